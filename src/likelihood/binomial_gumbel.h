// Binomial counts, complementary log-log and log-log links.
#pragma once

#include <cmath>

#include "likelihood/binomial.h"

namespace galvi {

/// P(success) = 1 - exp(-exp(eta)), sign = 1, or exp(-exp(-eta)), sign = -1, which is the same of failures and of
/// minus eta. With c the successes, or the failures, and x = sign eta
///   log p(y | eta) = log choose(size, y) + c f(x) - (size - c) exp(x),   f = log_cloglog().   y = 0..size
template <int sign>
class BinomialGumbel final : public Binomial {
 public:
  BinomialGumbel() : Binomial(sign > 0 ? smallest_value() : largest_value()) {}

  // u = exp(x): f = log(1 - exp(-u)), and by its series x - u / 2 + u^2 / 24 - .. where u is small
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double small = 0.25;
    const auto y = rows.data.y.array(), size = rows.data.size.array();
    RowArray u = sign * eta.col(0).array();
    exp_each(u);
    RowArray f = -u;
    exp_each(f);
    f = 1.0 - f;
    log_each(f);
    for (Index n = 0; n < rows.size(); ++n) {
      if (u[n] >= small) continue;
      const double square = u[n] * u[n];
      f[n] = sign * eta(n, 0) - 0.5 * u[n] +
             square * (1.0 / 24 - square * (1.0 / 2880 - square * (1.0 / 181440 - square / 9676800)));
    }
    out = rows.constants.col(0).array();
    if (sign > 0)
      out += y * f - (size - y) * u;
    else
      out += (size - y) * f - y * u;
  }
  Smoothness smoothness() const override { return {f_.smoothness().width, 1.0}; }

 protected:
  double link(double success, double failure) const override {
    return sign * std::log(-std::log(sign > 0 ? failure : success));
  }
};

}  // namespace galvi
