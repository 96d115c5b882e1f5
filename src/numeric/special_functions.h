// Gamma and beta functions: Boost.Math behind one interface, so that its headers are compiled once.
#pragma once

namespace galvi {

constexpr double pi = 3.14159265358979323846;
constexpr double euler_gamma = 0.57721566490153286061;

/// log Gamma(x), x > 0. (std::lgamma writes a global variable, which threads must not.)
double log_gamma(double x);
/// log Gamma(x + delta) - log Gamma(x), x > 0, x + delta > 0, without cancellation where x is large.
double log_gamma_ratio(double x, double delta);
/// log Gamma(y + a) / Gamma(a), a = exp(log_a), for whole numbers y >= 0.
double log_rising(double y, double log_a);
/// log Gamma(x) - [(x - 1/2) log x - x + log(2 pi) / 2]: the remainder of Stirling's formula, about 1 / (12
/// x).
double stirling_error(double x);
/// The same for x so small that only its logarithm is known.
double stirling_error(double x, double log_x);
/// Its derivative, about -1 / (12 x^2).
double stirling_error_slope(double x);

/// d^k log Gamma(x) / d x^k for k = 0..4: digamma, trigamma, .. from k = 1.   x > 0
void log_gamma_derivatives(double x, double out[5]);
double digamma(double x);

/// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), a > 0, 0 <= x <= infinity.
double lower_gamma(double a, double x);
double upper_gamma(double a, double x);
/// The x with P(a, x) = p, 0 <= p < 1.
double lower_gamma_quantile(double a, double p);
/// The regularised incomplete beta function I_x(a, b), a, b > 0; y = 1 - x is handed over as x may be within
/// rounding of 1.
double incomplete_beta(double a, double b, double x, double y);

/// P(T <= t) for Student's t with `df` degrees of freedom.
double student_cdf(double t, double df);

}  // namespace galvi
