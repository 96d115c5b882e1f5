// Rising factorials a (a + 1) .. (a + y - 1), as functions of log a.
#pragma once

namespace galvi {

/// out[k] <- d^k R / d x^k, k = 1..4, R(x) = log Gamma(y + a) / Gamma(a), a = exp(x), for whole numbers y >= 0. Exact
/// to rounding relative to y, also where a is much larger than y, so that differences of polygamma functions cancel.
void log_rising_derivatives(double y, double x, double out[5]);

}  // namespace galvi
