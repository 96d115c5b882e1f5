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
class BetaLogPrecision final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<BetaKnownPrecision>(last);
  }
  // With a = mu precision, b = (1 - mu) precision and S the remainder of Stirling's formula for log Gamma:
  // log p = -precision KL + log(a b / (2 pi precision)) / 2 - log y (1 - y) + S(precision) - S(a) - S(b)
  std::optional<Shares> shares(const Datum& datum) const override {
    Shares form;
    form.constant = -std::log(datum.y) - std::log1p(-datum.y) - log_sqrt_2pi;
    form.slope = form.share_weight = 0.5;
    form.proportion = datum.y;
    form.whole = LogGammaPart::stirling(1.0);
    form.first = form.second = LogGammaPart::stirling(-1.0);
    return form;
  }
  PreparedRows prepare(Data data) const override { return BetaKnownPrecision(0.0).prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_precision = eta.col(1).array().max(-700.0).min(700.0);
    RowArray error(rows.size());
    stirling_error_each(log_precision, error);
    BetaResponse::with_precisions(rows, eta, log_precision, error, out);
  }
  double last_of(const Datum&, double, double) const override { return 2.0; }
  // The variance is mu (1 - mu) / (1 + exp(eta_2)).
  NoiseForm noise_form() const override { return NoiseForm::share; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
