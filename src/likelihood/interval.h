// Derivatives of the log probability of an interval.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

/// d^k log f, k = 0..4, from log f and f' / f, .., f'''' / f.
inline void log_derivatives(double log_value, const double ratio[4], double out[5]) {
  const double a = ratio[0], b = ratio[1], c = ratio[2], d = ratio[3];
  out[0] = log_value;
  out[1] = a;
  out[2] = b - a * a;
  out[3] = c - 3.0 * a * b + 2.0 * a * a * a;
  out[4] = d - 4.0 * a * c - 3.0 * b * b + 12.0 * a * a * b - 6.0 * a * a * a * a;
}

/// d^k log(1 - exp(l)), k = 0..4, from those of l < 0. With q = exp(l) / (1 - exp(l)) the derivatives of
/// log(1 - exp(-L)) in L are q, -q (1 + q), q (1 + q) (1 + 2 q), -q (1 + q) (1 + 6 q + 6 q^2).
inline double log_complement(double l) {
  return l > -0.693 ? std::log(-std::expm1(l)) : std::log1p(-std::exp(l));
}
inline void log_complement_derivatives(const double l[5], double out[5]) {
  const double L1 = -l[1], L2 = -l[2], L3 = -l[3], L4 = -l[4];
  const double q = 1.0 / std::expm1(-l[0]), g2 = -q * (1.0 + q);
  const double g3 = -g2 * (1.0 + 2.0 * q), g4 = g2 * (1.0 + 6.0 * q * (1.0 + q));
  out[0] = log_complement(l[0]);
  out[1] = q * L1;
  out[2] = q * L2 + g2 * L1 * L1;
  out[3] = q * L3 + 3.0 * g2 * L1 * L2 + g3 * L1 * L1 * L1;
  out[4] = q * L4 + g2 * (4.0 * L1 * L3 + 3.0 * L2 * L2) + 6.0 * g3 * L1 * L1 * L2 + g4 * L1 * L1 * L1 * L1;
}

/// Likelihood::interval() of (low, high], where d P(Y <= y | eta) / d eta = -exp(g), the flux: tails(y) are P(Y <= y)
/// and P(Y > y), and flux(y, out) gives g and its first three derivatives. False for intervals so improbable that
/// differences lose digits.
template <class TailsOf, class Flux>
bool interval_by_flux(double low, double high, const Support& support, TailsOf tails, Flux flux, double out[5]) {
  constexpr double least = 1e-5;
  const bool from = low > support.low, to = high < support.high;
  const Tails below = from ? tails(low) : Tails{0.0, 1.0}, above = to ? tails(high) : Tails{1.0, 0.0};
  const double mass = below.lower < 0.5 ? above.lower - below.lower : below.upper - above.upper;
  if (!(mass > least)) return false;
  double ratio[4] = {};
  const auto add = [&](double y, double sign) {
    double g[4];
    flux(y, g);
    const double share = sign * std::exp(g[0]) / mass, a = g[1], b = g[2];
    if (share == 0.0) return;
    ratio[0] += share;
    ratio[1] += share * a;
    ratio[2] += share * (b + a * a);
    ratio[3] += share * (g[3] + 3.0 * a * b + a * a * a);
  };
  if (from) add(low, 1.0);
  if (to) add(high, -1.0);
  log_derivatives(std::log(mass), ratio, out);
  return true;
}

/// The same where eta is a location, so that the flux is the density.
inline bool interval_of_location(const Likelihood& likelihood, const Datum& row, double eta, double out[5]) {
  const auto tails = [&](double y) { return *likelihood.predictive_tails({y}, eta, 0.0); };
  const auto flux = [&](double y, double g[4]) {
    double l[5];
    likelihood.derivatives({y}, eta, l);
    std::copy(l, l + 4, g);
  };
  return interval_by_flux(row.entry, row.exit, likelihood.support(row), tails, flux, out);
}

/// The same of counts whose eta is the logarithm of their mean, where -d P(Y <= y | eta) / d eta = (y + 1) p(y + 1 | eta).
inline bool interval_of_counts(const Likelihood& likelihood, const Datum& row, double eta, double out[5]) {
  constexpr Support with_zeros{-1.0, infinity};  // an end at zero leaves these out
  const auto tails = [&](double y) {
    const double lower = likelihood.conditional_cdf({y, 1.0}, &eta);
    return Tails{lower, 1.0 - lower};
  };
  const auto flux = [&](double y, double g[4]) {
    const double next = std::floor(y) + 1.0;
    double l[5];
    likelihood.derivatives({next, 1.0}, eta, l);
    std::copy(l, l + 4, g);
    g[0] += std::log(next);
  };
  return interval_by_flux(row.entry, row.exit, with_zeros, tails, flux, out);
}

}  // namespace galvi
