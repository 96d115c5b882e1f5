// Positive responses with a long tail whose log shape, the inverse of the dispersion, has a linear predictor of
// its own.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/inverse_gaussian.h"
#include "likelihood/log_parameter.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// Mean exp(eta_1), variance exp(3 eta_1 - eta_2) / size. Concave in eta_2, not in eta_1.
class InverseGaussianLogShape final : public LogParameter<InverseGaussian, -1> {
 public:
  explicit InverseGaussianLogShape(const LikelihoodSpec& spec) : LogParameter<InverseGaussian, -1>(spec) {}

  bool has_closed_form() const override { return true; }
  void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                       RowExpectation& out) const override {
    const ScaledLoss form{-log_sqrt_2pi - 1.5 * std::log(datum.y) + 0.5 * std::log(datum.size), 0.5, 1.0};
    form.add_expectation(prototype_.expected_loss(datum, *mean, *variance), mean, variance, out);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {infinity, 1.0}}; }
  // Var[log y | eta] is about y / shape. If it were large, the mean of exp(-2 eta_1) would be huge.
  PreparedRows prepare(Data data) const override { return prototype_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_shape = eta.col(1).array().max(-700.0).min(700.0);
    RowArray shape = log_shape;
    exp_each(shape);
    InverseGaussian::with_shapes(rows, eta, shape, log_shape, out);
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    constexpr double least = -1.0;
    const double log_y = std::log(datum.y);
    const double log_shape = -2.0 * std::log(std::hypot(log_y - mean, std::sqrt(variance)));
    return log_y - std::log(datum.size) + std::max(least, log_shape);
  }
  NoiseForm noise_form() const override { return NoiseForm::inverse; }
};

}  // namespace galvi
