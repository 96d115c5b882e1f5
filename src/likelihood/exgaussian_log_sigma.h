// A response with normal noise and an exponential delay, whose log standard deviation, and log mean delay, have linear
// predictors of their own.
#pragma once

#include <algorithm>
#include <cmath>

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

  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray sigma = eta.col(1).array().max(-700.0).min(700.0);
    exp_each(sigma);
    const double beta = prototype_.beta();
    ExGaussian::with_parameters(rows, eta, sigma, RowArray::Constant(rows.size(), beta), std::log(beta), out);
  }
  // At s + i t, u = (A - B) cos t - i (A + B) sin t with A = r exp(-s), B = exp(s) / beta, A B = r / beta. The zeros of
  // Phi, the nearest of which is at 1.9 + 2.8i and the others of which approach the diagonal, are near the real line
  // where A and B are large and nearly equal.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    constexpr double square = 1.916 * 1.916;
    const Reach log_sigma(mean[1], variance[1], 2.0);
    const double beta = prototype_.beta(), r = Reach(mean[0], variance[0]).distance(datum.y) + beta;
    const double most_a = r * std::exp(-log_sigma.low), most_b = std::exp(log_sigma.high) / beta;
    const double product = std::min({r / beta, most_a * (most_a + 2.0), most_b * (most_b + 2.0)});
    return {1, {phi_zero_angle(std::sqrt(square + 4.0 * product)), 2.0}};
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
  // At log beta + i t, u = (y - eta_1) / sigma + (P - 1 / P) cos t + i (P + 1 / P) sin t with P = beta / sigma. P or 1 / P
  // is large at a zero of Phi only where (y - eta_1) / sigma is.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    const Reach log_sigma(mean[1], variance[1], 2.0), log_beta(mean[2], variance[2], 2.0);
    const double most = std::exp(std::max(log_beta.high - log_sigma.low, log_sigma.high - log_beta.low));
    const double residual = Reach(mean[0], variance[0]).distance(datum.y) * std::exp(-log_sigma.low);
    return {2, {phi_zero_angle(std::min(most, residual) + 2.0), 2.0}};
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
