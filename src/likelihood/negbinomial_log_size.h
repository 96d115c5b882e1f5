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
  // A large size is a factor of the mean of log sigmoid, whose samples have absolute errors; nodes of log p
  // itself keep its digits.
  const StandardFunction* standard_function() const override { return size_ < 1e3 ? &f_ : nullptr; }
  Smoothness smoothness() const override { return {pi, 1.0}; }
};

/// y ~ negative binomial with mean exp(eta_1) and size exp(eta_2). Concave in eta_1, not in eta_2: the larger
/// eta_2, the flatter, as the limit is Poisson's distribution.
class NegativeBinomialLogSize final : public SecondParameter {
 public:
  std::unique_ptr<Likelihood> given(double second) const override {
    return std::make_unique<NegativeBinomialKnownSize>(second);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {2.5, 1.0}}; }
  double second_of(const Datum&, double, double) const override { return 0.0; }
  NoiseForm noise_form() const override { return NoiseForm::inverse; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
