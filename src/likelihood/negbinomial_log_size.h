// Overdispersed counts whose log size has a linear predictor of its own.
#pragma once

#include "likelihood/distributional.h"
#include "likelihood/negbinomial.h"

namespace galvi {

class NegativeBinomialKnownSize final : public NegativeBinomialResponse {
 public:
  explicit NegativeBinomialKnownSize(double log_size) {
    const double size = positive_exp(log_size);
    set_size(size, std::log(size));
  }
};

/// y ~ negative binomial with mean exp(eta_1) and size exp(eta_2). Concave in eta_1, not in eta_2: the larger
/// eta_2, the flatter, as the limit is Poisson's distribution.
class NegativeBinomialLogSize final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<NegativeBinomialKnownSize>(last);
  }
  std::optional<MeanOverSize> mean_over_size(const Datum& datum) const override {
    return MeanOverSize{-log_factorial(datum.y), datum.y, LogGammaPart::rising(1.0, datum.y)};
  }
  double last_of(const Datum&, double, double) const override { return 0.0; }
  NoiseForm noise_form() const override { return NoiseForm::inverse; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
