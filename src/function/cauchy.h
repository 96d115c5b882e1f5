// Probabilities of the standard Cauchy distribution, right in both tails.
#pragma once

namespace galvi {

/// d^k log [F(b - x) - F(a - x)] / d x^k, k = 0..4, F(t) = 1 / 2 + atan(t) / pi; -infinity <= a < b <= infinity.
void log_cauchy_interval_derivatives(double a, double b, double x, double out[5]);

}  // namespace galvi
