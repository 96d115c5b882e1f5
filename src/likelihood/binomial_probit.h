// Binomial counts, probit link.
#pragma once

#include "function/normal.h"
#include "likelihood/binomial.h"

namespace galvi {

class BinomialProbit final : public Binomial {
 public:
  BinomialProbit() : Binomial(normal()) {}
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto y = rows.data.y.array(), size = rows.data.size.array();
    const auto x = eta.col(0).array();
    if (rows.binary) {
      RowArray of_y = (2.0 * y - 1.0) * x;
      log_normal_cdf_each(of_y);
      out = of_y;
      return;
    }
    RowArray success = x, failure = -x;
    log_normal_cdf_each(success);
    log_normal_cdf_each(failure);
    out = rows.constants.col(0).array() + y * success + (size - y) * failure;
  }
  // E Phi(eta) = Phi(mean / sqrt(1 + variance))
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    if (datum.size != 1.0) return std::nullopt;
    return f_.log_mean_exp(datum.y > 0.0 ? mean : -mean, variance);
  }

 protected:
  double link(double success, double /*failure*/) const override { return normal_quantile(success); }
};

}  // namespace galvi
