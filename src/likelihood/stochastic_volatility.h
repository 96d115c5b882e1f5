// A series without drift whose log variance is the latent value.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/likelihood.h"

namespace galvi {

/// y ~ N(0, exp(eta)):  log p(y | eta) = -log(2 pi) / 2 - eta / 2 - y^2 exp(-eta) / 2.
class StochasticVolatility final : public Likelihood {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    return -log_sqrt_2pi - 0.5 * *eta - half_square(datum.y, *eta);
  }
  // constants: 2 log|y|
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = 2.0 * out.data.y.array().abs().log();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray square = (rows.constants.col(0) - eta.col(0)).array();
    exp_each(square);
    out = -log_sqrt_2pi - 0.5 * (eta.col(0).array() + square);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double h = half_square(datum.y, eta);
    out[0] = -log_sqrt_2pi - 0.5 * eta - h;
    out[1] = h - 0.5;
    out[2] = out[4] = -h;
    out[3] = h;
  }
  Smoothness smoothness() const override { return {infinity, 1.0}; }
  // E exp(-eta) = exp(-mean + variance / 2)
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const double h = half_square(datum.y, mean - 0.5 * variance);
    return PointExpectation{-log_sqrt_2pi - 0.5 * mean - h, h - 0.5, -0.5 * h, -h, 0.5 * h, -0.25 * h};
  }
  bool has_closed_form() const override { return true; }
  // f* = -log(2 pi) / 2 + lambda log(2 lambda / y^2) - lambda, alpha = lambda - 1/2   (001, table 2); a
  // response of 0 leaves lambda = 0
  bool has_fenchel_conjugate() const override { return true; }
  DualLine dual_line(const Datum& datum) const override {
    return DualLine::in_lambda(-0.5, 1.0, datum.y == 0.0 ? 0.0 : infinity);
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    if (datum.y == 0.0) return {-log_sqrt_2pi, 0.0, 0.0};
    const double slope = std::log(2.0 * x) - 2.0 * std::log(std::fabs(datum.y));
    return {-log_sqrt_2pi + x * (slope - 1.0), slope, 1.0 / x};
  }
  bool log_concave() const override { return true; }
  // A response of 0 asks for a variance of 0; its log p is a line in eta, so that any start will do.
  double starting_eta(const Datum& datum) const override {
    return datum.y == 0.0 ? 0.0 : 2.0 * std::log(std::fabs(datum.y));
  }

  double conditional_mean(const Datum& /*row*/, const double* /*eta*/) const override { return 0.0; }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override { return std::exp(*eta); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return normal_cdf(datum.y == 0.0 ? 0.0 : datum.y * std::exp(-0.5 * *eta));
  }
  // With eta the response goes from 0 to where its sign is as likely as not: d P(Y <= y | eta) / d eta = -y
  // p(y | eta) / 2.
  std::optional<Crossing> crossing(const Datum& datum) const override {
    return Crossing{datum.y > 0.0 ? 1.0 : 0.0, 0.5};
  }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    derivatives(datum, t, l);
    out[0] = std::log(std::fabs(datum.y)) + l[0];
    out[1] = l[1];
    out[2] = l[2];
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {-infinity, infinity}; }

  std::optional<Tails> predictive_tails(const Datum& datum, double, double) const override {
    if (datum.y == 0.0) return Tails{0.5, 0.5};
    return std::nullopt;
  }
  std::optional<double> predictive_mean(const Datum&, double, double) const override { return 0.0; }
  std::optional<double> predictive_mean_variance(const Datum&, double, double) const override { return 0.0; }
  std::optional<double> predictive_noise(const Datum& /*row*/, double mean, double variance) const override {
    return std::exp(mean + 0.5 * variance);
  }

 private:
  // y^2 exp(-eta) / 2 without forming y^2
  static double half_square(double y, double eta) {
    return 0.5 * std::exp(2.0 * std::log(std::fabs(y)) - eta);
  }
};

}  // namespace galvi
