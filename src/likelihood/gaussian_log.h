// A Gaussian response whose mean is the exponential of eta, with a variance that may be learned or predicted.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/distributional.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// log p(y | eta) = -log(2 pi noise) / 2 - (y - exp(eta))^2 / (2 noise), noise = variance / size. Not log-concave:
/// where exp(eta) < y / 2 it is convex.
class GaussianLogResponse : public LogLink<Likelihood> {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    const double log_sd = log_sd_of(datum), z = (datum.y - std::exp(*eta)) * std::exp(-log_sd);
    return -log_sqrt_2pi - log_sd - 0.5 * z * z;
  }
  // constants: log(size) / 2
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = 0.5 * out.data.size.array().log();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_log_sds(rows, eta, log_sd_ - rows.constants.col(0).array(), out);
  }
  /// out <- log p for these logarithms of standard deviations.
  static void with_log_sds(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& log_sd, ArrayRef out) {
    RowArray mean = eta.col(0).array(), precision = -log_sd;
    exp_each(mean);
    exp_each(precision);
    out = -log_sqrt_2pi - log_sd - 0.5 * ((rows.data.y.array() - mean) * precision).square();
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const PointExpectation l = *closed_form(datum, eta, 0.0);
    out[0] = l.value;
    out[1] = l.d_m;
    out[2] = l.d_mm;
    out[3] = 2.0 * l.d_mv;
    out[4] = 4.0 * l.d_vv;
  }
  Smoothness smoothness() const override { return {infinity, 2.0}; }
  bool has_closed_form() const override { return true; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean, double variance) const override {
    const PointExpectation loss = expected_loss(datum.y, mean, variance);
    const double log_sd = log_sd_of(datum), precision = std::exp(-2.0 * log_sd);
    return PointExpectation{-log_sqrt_2pi - log_sd - precision * loss.value, -precision * loss.d_m,
                            -precision * loss.d_v, -precision * loss.d_mm, -precision * loss.d_mv,
                            -precision * loss.d_vv};
  }
  /// Of (y - exp(eta))^2 / 2: with a = E exp(eta) and b = E exp(2 eta) it is (y^2 - 2 y a + b) / 2, and b grows faster.
  static PointExpectation expected_loss(double y, double mean, double variance) {
    const double a = std::exp(mean + 0.5 * variance), b = std::exp(2.0 * (mean + variance));
    if (!(b < infinity)) return {infinity, infinity, infinity, infinity, infinity, infinity};
    const double excess = a * a * std::expm1(variance), own = y * a;
    return {0.5 * (y - a) * (y - a) + 0.5 * (excess < infinity ? excess : b), b - own, b - 0.5 * own,
            2.0 * b - own, 2.0 * b - 0.5 * own, 2.0 * b - 0.25 * own};
  }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return true; }
  // A response below the noise says that the mean is next to nothing, relative to the noise.
  double starting_eta(const Datum& datum) const override {
    const double least = -1.0 + log_sd_of(datum);
    return datum.y > 0.0 ? std::max(std::log(datum.y), least) : least;
  }
  std::optional<double> mode(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::nullopt;
  }

  double conditional_variance(const Datum& row, const double* /*eta*/) const override {
    return std::exp(2.0 * log_sd_of(row));
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return normal_cdf((datum.y - std::exp(*eta)) * std::exp(-log_sd_of(datum)));
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {-infinity, infinity}; }
  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }

 protected:
  double log_sd_ = 0.0;

 private:
  double log_sd_of(const Datum& row) const { return log_sd_ - 0.5 * std::log(row.size); }
};

class GaussianLog final : public GaussianLogResponse {
 public:
  explicit GaussianLog(const LikelihoodSpec& spec) : parameter_(spec, "variance") {}
  void update(const ConstVectorRef& hyper) override {
    variance_ = parameter_.read(hyper);
    log_sd_ = 0.5 * std::log(variance_);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double loss = expected_loss(datum.y, *mean, *variance).value;
    gradient[parameter_.position()] += weight * (datum.size * loss / variance_ - 0.5) / variance_;
    return true;
  }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter parameter_;
  double variance_ = 1.0;
};

class GaussianLogKnownSd final : public GaussianLogResponse {
 public:
  static constexpr double most = 350.0;  // so that the variance and its inverse are finite
  explicit GaussianLogKnownSd(double log_sd) { log_sd_ = std::min(std::max(log_sd, -most), most); }
};

/// The same with log sd eta_2.
class GaussianLogLogSd final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override { return std::make_unique<GaussianLogKnownSd>(last); }
  PreparedRows prepare(Data data) const override { return GaussianLogKnownSd(0.0).prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_sd = eta.col(1).array().max(-GaussianLogKnownSd::most).min(GaussianLogKnownSd::most);
    GaussianLogResponse::with_log_sds(rows, eta, log_sd - rows.constants.col(0).array(), out);
  }
  bool has_closed_form() const override { return true; }
  void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                       RowExpectation& out) const override {
    const double log_root = 0.5 * std::log(datum.size), shifted[2] = {mean[0], mean[1] - log_root};
    const ScaledLoss form{-log_sqrt_2pi, -1.0, -2.0};
    form.add_expectation(GaussianLogResponse::expected_loss(datum.y, *mean, *variance), shifted, variance, out);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {infinity, 2.0}}; }
  double last_of(const Datum& datum, double mean, double variance) const override {
    const double loss = GaussianLogResponse::expected_loss(datum.y, mean, variance).value;
    return 0.5 * std::log(2.0 * loss * datum.size);
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return true; }
};

}  // namespace galvi
