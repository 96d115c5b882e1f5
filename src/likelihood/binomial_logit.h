// Binomial counts, logit link.
#pragma once

#include <cmath>

#include "likelihood/binomial.h"

namespace galvi {

class BinomialLogit final : public Binomial {
 public:
  BinomialLogit() : Binomial(logistic()) {}
  // f(eta) = min(eta, 0) - l, f(-eta) = -max(eta, 0) - l
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto y = rows.data.y.array(), size = rows.data.size.array();
    const auto x = eta.col(0).array();
    RowArray l = x;
    log1p_exp_each(l);
    out = rows.constants.col(0).array() + y * x.min(0.0) - (size - y) * x.max(0.0) - size * l;
  }
  Truncation truncation() const override { return Truncation::concave; }

 protected:
  double link(double success, double failure) const override { return std::log(success / failure); }
};

}  // namespace galvi
