// A Gaussian response, identity link, with a variance that may be learned.
#pragma once

#include <cmath>
#include <stdexcept>

#include "function/elementwise.h"
#include "function/normal.h"
#include "function/normal_interval.h"
#include "likelihood/identity_link.h"

namespace galvi {

/// log p(y | eta) = -log(2 pi noise) / 2 - (y - eta)^2 / (2 noise),   noise = variance / size + the row's own.
/// variance = 0 (interpolation) is legal for densities of new data; it has no expectation, as exact inference
/// needs none.
class Gaussian final : public IdentityLink {
 public:
  explicit Gaussian(const LikelihoodSpec& spec) {
    const auto entry = spec.hyper.find("variance");
    if (entry == spec.hyper.end() || entry->second.size() != 1) {
      throw std::invalid_argument("gaussian: hyper must name one `variance`");
    }
    position_ = entry->second[0];
  }

  void update(const ConstVectorRef& hyper) override {
    if (position_ < 0 || position_ >= hyper.size()) {
      throw std::invalid_argument("gaussian: `variance` points outside the table of hyperparameters");
    }
    if (!(hyper[position_] >= 0.0)) throw std::domain_error("gaussian: `variance` must be >= 0");
    variance_ = hyper[position_];
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return density(datum.y - *eta, noise(datum));
  }
  // constants: log(size) / 2 - log(2 pi) / 2
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = 0.5 * out.data.size.array().log() - log_sqrt_2pi;
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    if (variance_ == 0.0 || rows.data.known.rows() > 0) return Likelihood::log_densities(rows, eta, out);
    out = rows.constants.col(0).array() - 0.5 * std::log(variance_) -
          0.5 / variance_ * rows.data.size.array() * (rows.data.y - eta.col(0)).array().square();
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    require_noise(datum);
    out[0] = log_density(datum, &eta);
    out[1] = (datum.y - eta) / noise(datum);
    out[2] = -1.0 / noise(datum);
    out[3] = out[4] = 0.0;
  }
  Smoothness smoothness() const override { return {infinity, 0.0}; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    require_noise(datum);
    const double precision = 1.0 / noise(datum);
    return PointExpectation{density(datum.y - mean, noise(datum)) - 0.5 * variance * precision,
                            (datum.y - mean) * precision,
                            -0.5 * precision,
                            -precision,
                            0.0,
                            0.0};
  }
  bool has_closed_form() const override { return true; }
  // lambda = 1 / noise is fixed and alpha free: f* = noise alpha^2 / 2 - y alpha - log(2 pi noise) / 2
  bool has_fenchel_conjugate() const override { return true; }
  DualLine dual_line(const Datum& datum) const override {
    require_noise(datum);
    return {0.0, 1.0, 1.0 / noise(datum), 0.0, -infinity, infinity};
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    const double own = noise(datum);
    return {x * (0.5 * own * x - datum.y) - log_sqrt_2pi - 0.5 * std::log(own), own * x - datum.y, own};
  }
  bool log_concave() const override { return true; }
  bool conjugate() const override { return true; }
  bool divides_dispersion() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  double conditional_variance(const Datum& row, const double* /*eta*/) const override { return noise(row); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return cdf(datum.y - *eta, noise(datum));
  }

  // y ~ N(mean, variance + noise)
  std::optional<double> predictive_noise(const Datum& row, double, double) const override { return noise(row); }
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    return density(datum.y - mean, variance + noise(datum));
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double residual = datum.y - mean, v = variance + noise(datum);
    const double lower = cdf(residual, v);
    return Tails{lower, v > 0.0 ? cdf(-residual, v) : 1.0 - lower};
  }
  std::optional<double> predictive_quantile(const Datum& row, double mean, double variance,
                                            double probability) const override {
    const double sd = std::sqrt(variance + noise(row));
    return sd > 0.0 ? mean + sd * normal_quantile(probability) : mean;
  }

  // With sd^2 = noise and t ~ N(0, 1) between the ends in units of sd, log P has in eta / sd the derivatives of
  // function/normal_interval.h, and in log sd the derivative E t^2 - 1.
  Truncation truncation() const override { return Truncation::concave; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    const double sd = std::sqrt(noise(row));
    log_normal_share_derivatives(row.entry / sd, row.exit / sd, eta / sd, out);
    double chain = 1.0;
    for (int k = 1; k < 5; ++k) out[k] *= chain /= sd;
    return true;
  }
  bool add_interval_gradient(const Datum& row, double eta, double weight, VectorRef gradient) const override {
    const double own = noise(row), sd = std::sqrt(own);
    double f[5];
    log_normal_share_derivatives(row.entry / sd, row.exit / sd, eta / sd, f);
    gradient[position_] += weight * (f[1] * f[1] + f[2]) / (2.0 * own * row.size);
    return true;
  }

  // d log p / d variance = ((y - eta)^2 / noise - 1) / (2 noise size)
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    if (variance_ == 0.0) return true;  // noise-free observations: the variance is fixed
    const double residual = datum.y - *mean, square = residual * residual + *variance;
    gradient[position_] += weight * (square / noise(datum) - 1.0) / (2.0 * noise(datum) * datum.size);
    return true;
  }
  bool has_hyper() const override { return true; }

 private:
  static double density(double residual, double variance) {
    if (variance == 0.0) return residual == 0.0 ? infinity : -infinity;
    return -log_sqrt_2pi - 0.5 * std::log(variance) - 0.5 * residual * residual / variance;
  }
  static double cdf(double residual, double variance) {
    if (variance == 0.0) return residual >= 0.0 ? 1.0 : 0.0;
    return normal_cdf(residual / std::sqrt(variance));
  }
  double noise(const Datum& row) const { return variance_ / row.size + row.noise; }
  void require_noise(const Datum& row) const {
    if (noise(row) == 0.0) {
      throw std::domain_error("gaussian: with `variance` = 0 only exact inference is defined");
    }
  }

  Index position_ = 0;
  double variance_ = 1.0;
};

}  // namespace galvi
