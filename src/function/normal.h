// The standard normal's density, distribution function and quantile, right in both tails.
#pragma once

namespace galvi {

constexpr double log_sqrt_2pi = 0.91893853320467274178;

double normal_density(double x);
double normal_cdf(double x);      // Phi(x)
double log_normal_cdf(double x);  // log Phi(x), about -x^2 / 2 far on the left
double normal_quantile(double probability);
double log_mills_ratio(double t);  // log [Phi(-t) / phi(t)], t >= 0

/// log int_0^infinity exp(-rate x) N(r | x, sd^2) dx = log [exp(rate^2 sd^2 / 2 - rate r) Phi(r / sd - rate
/// sd)]: of a sum of normal and exponential noise the log density at r is this plus log rate.
double log_normal_exponential(double r, double sd, double rate);
/// P(X > h, Y > slope X) of two independent standard normal variables, h, slope >= 0, accurate relative to
/// itself.
double normal_wedge(double h, double slope);

/// d^k log Phi / d x^k, k = 0..4.
void log_normal_cdf_derivatives(double x, double out[5]);

}  // namespace galvi
