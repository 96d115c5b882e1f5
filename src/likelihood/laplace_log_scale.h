// A response with double exponential noise whose log scale has a linear predictor of its own.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "likelihood/laplace.h"
#include "likelihood/log_parameter.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// log p(y | eta) = -log 2 - eta_2 - |y - eta_1| exp(-eta_2). Concave in eta_1 and in eta_2, not in both together.
class LaplaceLogScale final : public LogParameter<Laplace> {
 public:
  explicit LaplaceLogScale(const LikelihoodSpec& spec) : LogParameter<Laplace>(spec) {}

  bool has_closed_form() const override { return true; }
  void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                       RowExpectation& out) const override {
    constexpr double log_2 = 0.69314718055994530942;
    const ScaledLoss form{-log_2, -1.0, -1.0};
    form.add_expectation(prototype_.expected_loss(datum, *mean, *variance), mean, variance, out);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {infinity, 1.0}}; }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double log_2 = 0.69314718055994530942;
    const RowArray log_scale = eta.col(1).array().max(-700.0).min(700.0);
    RowArray precision = -log_scale;
    exp_each(precision);
    out = -log_2 - log_scale - (rows.data.y - eta.col(0)).array().abs() * precision;
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool concave_in_each() const override { return true; }
};

}  // namespace galvi
