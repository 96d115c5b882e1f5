// A skewed response whose log standard deviation, and skewness, have linear predictors of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/composed_view.h"
#include "likelihood/log_parameter.h"
#include "likelihood/reach.h"
#include "likelihood/skew_normal.h"

namespace galvi {

/// sigma = exp(eta_2), alpha a number.
class SkewNormalLogSigma final : public LogParameter<SkewNormal> {
 public:
  explicit SkewNormalLogSigma(const LikelihoodSpec& spec) : LogParameter<SkewNormal>(spec) {}
  explicit SkewNormalLogSigma(double alpha) : LogParameter<SkewNormal>(SkewNormal(alpha)) {}
  void update(const ConstVectorRef& hyper) override { prototype_.update(hyper); }
  bool has_hyper() const override { return prototype_.has_hyper(); }

  std::unique_ptr<Likelihood> inner(const Datum&, double outer) const override {
    SkewNormal known = prototype_;
    known.set(positive_exp(outer));
    return std::make_unique<ComposedView<SkewNormal>>(std::move(known), log_phi());
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double log_2 = 0.69314718055994530942;
    const SkewShape& shape = prototype_.shape();
    const RowArray s = eta.col(1).array().max(-700.0).min(700.0);
    RowArray z = -s;
    exp_each(z);
    z = shape.scale * z * (rows.data.y - eta.col(0)).array() + shape.shift;
    RowArray tail = shape.alpha * z;
    log_normal_cdf_each(tail);
    out = log_2 - log_sqrt_2pi + std::log(shape.scale) - s - 0.5 * z.square() + tail;
  }
  // At s + i t the argument of Phi is A exp(-i t) + alpha shift, where A is a residual times exp(-s): at a
  // zero of Phi for a small t if both are large and of different signs.
  Nesting nesting(const Datum&, const double*, const double*) const override {
    return {1, {angle(), 2.0}};
  }
  // The density grows there.
  double width(const double* /*mean*/) const override {
    return angle();
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool concave_in_each() const override { return false; }

 private:
  double angle() const {
    const SkewShape& shape = prototype_.shape();
    return phi_zero_angle(phi_zero_im, shape.alpha * shape.shift - phi_zero_re);
  }
};

/// The same with alpha = eta_3.
class SkewNormalLogSigmaAlpha final : public PredictedParameter {
 public:
  Index latents() const override { return 3; }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<SkewNormalLogSigma>(last);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double log_2 = 0.69314718055994530942;
    constexpr double most = 1e100;  // its square is a number
    const RowArray alpha = eta.col(2).array().max(-most).min(most);
    const RowArray s = eta.col(1).array().max(-700.0).min(700.0);
    const RowArray whole = 1.0 + alpha.square();
    const RowArray shift = SkewShape::sqrt_2_by_pi * alpha / whole.sqrt();
    // (1 + alpha^2 (1 - 2 / pi)) / (1 + alpha^2)
    const RowArray square = 1.0 - SkewShape::sqrt_2_by_pi * SkewShape::sqrt_2_by_pi * (alpha.square() / whole);
    RowArray z = -s, log_scale = square;
    exp_each(z);
    log_each(log_scale);
    z = square.sqrt() * z * (rows.data.y - eta.col(0)).array() + shift;
    RowArray tail = alpha * z;
    log_normal_cdf_each(tail);
    out = log_2 - log_sqrt_2pi + 0.5 * log_scale - s - 0.5 * z.square() + tail;
  }
  // delta is singular where alpha is i. The zeros of Phi are at multiples of 1.9 + 2.8i, by the residual in
  // sds, so that they leave a cone around the real line.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    constexpr double of_delta = 0.9, of_mean = 1.3, least = 1e-3;
    const double residual =
        ResidualReach(datum.y, mean[0], variance[0]).most / ScaleReach(mean[1], variance[1]).low;
    return {2, {std::clamp(phi_zero_im / (residual + of_mean), least, of_delta), 0.0}};
  }
  // A single response does not determine the skewness.
  double last_of(const Datum&, double, double) const override { return 1.0; }
  double width(const double* /*mean*/) const override { return 0.4; }
  // Neither the mean nor the variance depends on alpha.
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
