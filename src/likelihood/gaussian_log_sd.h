// A Gaussian response whose log standard deviation has a linear predictor of its own.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/distributional.h"
#include "likelihood/identity_link.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// y ~ N(eta, exp(2 s) / size + the row's own noise) for a known s, in logarithms, so that exp(2 s) may overflow.
/// K = 1
class GaussianKnownSd final : public IdentityLink {
 public:
  explicit GaussianKnownSd(double log_sd) : log_sd_(log_sd) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return *predictive_log_density(datum, *eta, 0.0);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double precision = std::exp(-2.0 * log_sd(0.0, datum));
    out[0] = log_density(datum, &eta);
    out[1] = (datum.y - eta) * precision;
    out[2] = -precision;
    out[3] = out[4] = 0.0;
  }
  Smoothness smoothness() const override { return {infinity, 0.0}; }
  bool log_concave() const override { return true; }
  bool divides_dispersion() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }

  double conditional_variance(const Datum& row, const double* /*eta*/) const override {
    return std::exp(2.0 * log_sd_) / row.size + row.noise;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return predictive_tails(datum, *eta, 0.0)->lower;
  }
  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    const double half = log_sd(variance, datum), z = std::exp(std::log(std::fabs(datum.y - mean)) - half);
    return -log_sqrt_2pi - half - 0.5 * z * z;
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double scale = log_sd(variance, datum), z = std::exp(std::log(std::fabs(datum.y - mean)) - scale);
    const Tails above{normal_cdf(z), normal_cdf(-z)};
    return datum.y < mean ? Tails{above.upper, above.lower} : above;
  }

 private:
  // log sqrt(variance + noise + exp(2 s) / size)
  double log_sd(double variance, const Datum& row) const {
    const double own = log_sd_ - 0.5 * std::log(row.size), other = 0.5 * std::log(variance + row.noise);
    const double top = std::max(own, other);
    return top + 0.5 * std::log1p(std::exp(-2.0 * std::fabs(own - other)));
  }
  double log_sd_;
};

/// y ~ N(eta_1, exp(2 s)), s = eta_2 - log(size) / 2:
///   log p(y | eta) = -log(2 pi) / 2 - s - (y - eta_1)^2 exp(-2 s) / 2.
/// Concave in eta_1 and in eta_2, not in both together. Where rows have noise of their own, exp(2 s) plus that is in
/// the place of exp(2 s): singularities of functions of s are at a distance of pi / 2, and E log p is one integral.
class GaussianLogSd final : public PredictedParameter {
 public:
  explicit GaussianLogSd(const LikelihoodSpec& spec) {
    const auto entry = spec.constants.find("noisy");
    noisy_ = entry != spec.constants.end() && entry->second != 0.0;
  }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<GaussianKnownSd>(last);
  }
  // constants: log(size) / 2
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = 0.5 * out.data.size.array().log();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray s = eta.col(1).array() - rows.constants.col(0).array();
    if (rows.data.known.rows() > 0) {
      RowArray variance = 2.0 * s;
      exp_each(variance);
      variance += rows.data.known.col(0).array();
      out = -0.5 * (rows.data.y - eta.col(0)).array().square() / variance;
      log_each(variance);
      out -= log_sqrt_2pi + 0.5 * variance;
      return;
    }
    RowArray precision = -s;
    exp_each(precision);
    out = -log_sqrt_2pi - s - 0.5 * ((rows.data.y - eta.col(0)).array() * precision).square();
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    const double own = std::log(std::hypot(datum.y - mean, std::sqrt(variance))) + 0.5 * std::log(datum.size);
    if (datum.noise == 0.0) return own;
    // a residual that the noise explains says little
    constexpr double least_share = 0.1;
    const double square = (datum.y - mean) * (datum.y - mean) + variance;
    return 0.5 * std::log(datum.size * std::max(square - datum.noise, least_share * square));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }

  bool has_closed_form() const override { return !noisy_; }
  bool row_has_closed_form(const Datum& datum) const override { return noisy_ && datum.noise == 0.0; }
  void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                       RowExpectation& out) const override {
    const double shifted[2] = {mean[0], mean[1] - 0.5 * std::log(datum.size)};
    ScaledLoss::add_gaussian(-log_sqrt_2pi, datum.y, shifted, variance, out);
  }
  Nesting nesting(const Datum& datum, const double*, const double*) const override {
    return {1, {datum.noise > 0.0 ? 1.57 : infinity, 2.0}};
  }
  bool log_concave() const override { return false; }
  bool concave_in_each() const override { return !noisy_; }
  bool divides_dispersion() const override { return true; }

 private:
  bool noisy_ = false;  // have rows noise of their own?
};

}  // namespace galvi
