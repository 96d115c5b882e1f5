// Binomial counts, complementary log-log link.
#pragma once

#include <cmath>

#include "likelihood/binomial.h"

namespace galvi {

/// P(success) = 1 - exp(-exp(eta)):  log p(y | eta) = log choose(size, y) + y f(eta) - (size - y) exp(eta),
/// f = log_cloglog().   y = 0..size
class BinomialCloglog final : public Binomial {
 public:
  BinomialCloglog() : Binomial(log_cloglog()) {}

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = log_choose(datum.size, datum.y);
    sum.add(0, datum.y, 1.0);
    sum.add_exponential(0, datum.size - datum.y, -1.0);
  }
  // u = exp(eta): f = log(1 - exp(-u)), and by its series eta - u / 2 + u^2 / 24 - .. where u is small
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double small = 0.25;
    const auto y = rows.data.y.array();
    RowArray u = eta.col(0).array();
    exp_each(u);
    RowArray f = -u;
    exp_each(f);
    f = 1.0 - f;
    log_each(f);
    for (Index n = 0; n < rows.size(); ++n) {
      if (u[n] >= small) continue;
      const double square = u[n] * u[n];
      f[n] = eta(n, 0) - 0.5 * u[n] +
             square * (1.0 / 24 - square * (1.0 / 2880 - square * (1.0 / 181440 - square / 9676800)));
    }
    out = rows.constants.col(0).array() + y * f - (rows.data.size.array() - y) * u;
  }
  Smoothness smoothness() const override { return {f_.smoothness().width, 1.0}; }
  // The link of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return std::log(-std::log((datum.size - datum.y + 0.5) / (datum.size + 1.0)));
  }
  const StandardFunction* log_complement_link() const override { return &log_gumbel(); }

 protected:
  double log_complement(double eta) const override { return log_gumbel().value(-eta); }
};

}  // namespace galvi
