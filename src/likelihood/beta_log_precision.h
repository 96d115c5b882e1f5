// Proportions whose log precision has a linear predictor of its own.
#pragma once

#include "likelihood/beta.h"
#include "likelihood/distributional.h"

namespace galvi {

class BetaKnownPrecision final : public BetaResponse {
 public:
  explicit BetaKnownPrecision(double log_precision) {
    const double precision = positive_exp(log_precision);
    set_precision(precision, std::log(precision));
  }
};

/// y ~ beta with mean 1 / (1 + exp(-eta_1)) and precision exp(eta_2).
class BetaLogPrecision final : public SecondParameter {
 public:
  std::unique_ptr<Likelihood> given(double second) const override {
    return std::make_unique<BetaKnownPrecision>(second);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {2.5, 1.0}}; }
  double second_of(const Datum&, double, double) const override { return 2.0; }
  // The variance is mu (1 - mu) / (1 + exp(eta_2)).
  NoiseForm noise_form() const override { return NoiseForm::share; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
