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
  // constants: log y!
  PreparedRows prepare(Data data) const override { return NegativeBinomialKnownSize(0.0).prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_size = eta.col(1).array().max(-700.0).min(700.0);
    RowArray size = log_size;
    exp_each(size);
    log_rising_each(rows.data.y.array(), log_size, out);
    out -= rows.constants.col(0).array();
    NegativeBinomialResponse::add_mean_part(rows.data.y.array(), eta.col(0).array() - log_size, size, out);
  }
  double last_of(const Datum&, double, double) const override { return 0.0; }
  NoiseForm noise_form() const override { return NoiseForm::inverse; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
