// A response with normal noise and an exponential delay, whose log standard deviation, and log mean delay,
// have linear predictors of their own.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/composed_view.h"
#include "likelihood/exgaussian.h"
#include "likelihood/log_parameter.h"
#include "likelihood/reach.h"

namespace galvi {

/// sigma = exp(eta_2), beta a number.
class ExGaussianLogSigma final : public LogParameter<ExGaussian> {
 public:
  explicit ExGaussianLogSigma(const LikelihoodSpec& spec) : LogParameter<ExGaussian>(spec) {}
  explicit ExGaussianLogSigma(double beta) : LogParameter<ExGaussian>(ExGaussian(beta)) {}
  void update(const ConstVectorRef& hyper) override { prototype_.update(hyper); }
  bool has_hyper() const override { return prototype_.has_hyper(); }

  std::unique_ptr<Likelihood> inner(const Datum&, double outer) const override {
    ExGaussian known = prototype_;
    known.set(positive_exp(outer));
    if (known.cancels()) return std::make_unique<ExGaussian>(std::move(known));
    return std::make_unique<ComposedView<ExGaussian>>(std::move(known), log_phi());
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray sigma = eta.col(1).array().max(-700.0).min(700.0);
    exp_each(sigma);
    const double beta = prototype_.beta();
    ExGaussian::with_parameters(rows, eta, sigma, RowArray::Constant(rows.size(), beta), std::log(beta), out);
  }
  // At s + i t, u is at a zero z of Phi for r = z sigma exp(i t) + sigma^2 / beta exp(2 i t), which is real
  // for small t where sigma / beta is large. There r is about sigma^2 / beta, so that the residual limits
  // sigma.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    const double beta = prototype_.beta();
    const ResidualReach residual(datum.y, mean[0], variance[0]);
    const double sigma = std::min(ScaleReach(mean[1], variance[1]).high, std::sqrt((residual.most + beta) * beta));
    return {1, {phi_zero_angle(phi_zero_im * sigma + residual.free, sigma * (phi_zero_re + 2.0 * sigma / beta)), 2.0}};
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool concave_in_each() const override { return false; }
};

/// The same with beta = exp(eta_3).
class ExGaussianLogSigmaLogBeta final : public PredictedParameter {
 public:
  Index latents() const override { return 3; }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<ExGaussianLogSigma>(positive_exp(last));
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_beta = eta.col(2).array().max(-700.0).min(700.0);
    RowArray sigma = eta.col(1).array().max(-700.0).min(700.0), beta = log_beta;
    exp_each(sigma);
    exp_each(beta);
    ExGaussian::with_parameters(rows, eta, sigma, beta, log_beta, out);
  }
  // At log beta + i t, u is at a zero z of Phi for y - eta_1 = z sigma - beta exp(i t) + sigma^2 / beta
  // exp(-i t), which is real for small t where beta / sigma or sigma / beta is large, and eta_1 then far from
  // y.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    const ScaleReach sigma(mean[1], variance[1]), beta(mean[2], variance[2]);
    const ResidualReach residual(datum.y, mean[0], variance[0]);
    const double most = std::max(beta.high, sigma.high / beta.low * sigma.high);
    const double length = std::min(most, residual.most) + phi_zero_re * sigma.low;
    return {2, {phi_zero_angle(phi_zero_im * sigma.low + residual.free, length), 2.0}};
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  double width(const double* mean) const override { return density_width(std::exp(mean[2] - mean[1])); }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }

 private:
  // exp(-(beta / sigma)^2 / 2) grows with the square of beta's imaginary part.
  static double density_width(double ratio) { return std::min(0.75, 3.0 / ratio); }
};

}  // namespace galvi
