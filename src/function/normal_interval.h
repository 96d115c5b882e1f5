// The probability of an interval under a normal distribution with a moving mean.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// d^k log [Phi(b - eta) - Phi(a - eta)] / d eta^k, k = 0..4, for a < b, right for intervals far out in
/// either tail and for narrow ones. out[1] - out[4] hold for the density of t ~ N(0, 1) between a - eta and b
/// - eta: E t, Var t - 1 and the third and fourth cumulants.
void log_normal_interval_derivatives(double a, double b, double eta, double out[5]);
double log_normal_interval(double a, double b, double eta);
/// The same derivatives where ends may be infinite, not both.
void log_normal_share_derivatives(double a, double b, double eta, double out[5]);
/// out <- log [Phi(b) - Phi(a)], -infinity <= a < b <= infinity; not a number where digits are lost, as in narrow
/// intervals.
void log_normal_share_each(const ConstArrayRef& a, const ConstArrayRef& b, ArrayRef out);

}  // namespace galvi
