// Positive responses whose log shape has a linear predictor of its own.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/distributional.h"
#include "likelihood/gamma_response.h"

namespace galvi {

class GammaKnownShape final : public GammaResponse {
 public:
  explicit GammaKnownShape(double shape) { set_shape(shape); }
};

/// y ~ Gamma with mean exp(eta_1) and shape size exp(eta_2). Concave in eta_1 and in eta_2, not in both together.
class GammaLogShape final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<GammaKnownShape>(positive_exp(last));
  }
  // constants: log y, log size
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 2);
    out.constants.col(0) = out.data.y.array().log();
    out.constants.col(1) = out.data.size.array().log();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_a = eta.col(1).array().max(-700.0).min(700.0) + rows.constants.col(1).array();
    RowArray shape = log_a, error(rows.size());
    exp_each(shape);
    stirling_error_each(log_a, error);
    GammaResponse::with_shapes(rows, eta, shape, 0.5 * log_a - log_sqrt_2pi - error, out);
  }
  // The expectation over eta_1 is a closed form; Stirling's error of the shape has poles at a distance of pi.
  Nesting nesting(const Datum& datum, const double*, const double*) const override {
    return {1, {2.6, 1.0, -std::log(datum.size)}};
  }
  // Var[log y | eta] is about 1 / shape. From a tiny shape on, where log p is linear in eta_2, steps are
  // short.
  double last_of(const Datum& datum, double mean, double variance) const override {
    constexpr double least = -2.0;
    const double log_shape = -2.0 * std::log(std::hypot(std::log(datum.y) - mean, std::sqrt(variance)));
    return std::max(least, log_shape) - std::log(datum.size);
  }
  NoiseForm noise_form() const override { return NoiseForm::inverse; }
  bool log_concave() const override { return false; }
  bool concave_in_each() const override { return true; }
  bool divides_dispersion() const override { return true; }
};

}  // namespace galvi
