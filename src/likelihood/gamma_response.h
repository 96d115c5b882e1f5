// Positive responses with a log link and a coefficient of variation that does not depend on the mean.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/interval.h"
#include "likelihood/log_link.h"
#include "numeric/special_functions.h"

namespace galvi {

/// Mean exp(eta), shape a = size times that of the family:  log p(y | eta) = a log a - log Gamma(a) + (a - 1) log y - a eta - a y exp(-eta),
/// y > 0. With d = log y - eta this is constant - log y + a (1 + d - exp(d)), without cancellation: constant
/// = log(a) / 2 - log(2 pi) / 2 - (the remainder of Stirling's formula for log Gamma(a)).
class GammaResponse : public LogLink<Likelihood> {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    const double log_y = std::log(datum.y), d = log_y - *eta;
    return constant(datum) - log_y + shape(datum) * (d - std::expm1(d));
  }
  // constants: log y
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = out.data.y.array().log();
    out.binary = (out.data.size.array() == 1.0).all();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    if (rows.binary) {
      with_shapes(rows, eta, shape_, RowArray::Constant(rows.size(), constant_), out);
      return;
    }
    const RowArray shape = shape_ * rows.data.size.array();
    RowArray log_a = rows.data.size.array();
    log_each(log_a);
    log_a += std::log(shape_);
    RowArray error(rows.size());
    stirling_error_each(log_a, error);
    with_shapes(rows, eta, shape, 0.5 * log_a - log_sqrt_2pi - error, out);
  }
  /// out <- log p for these shapes and their constants.
  template <class Shape>
  static void with_shapes(const PreparedRows& rows, const ConstMatrixRef& eta, const Shape& shape,
                         const RowArray& constant, ArrayRef out) {
    const RowArray d = (rows.constants.col(0) - eta.col(0)).array();
    RowArray rise = d;
    exp_each(rise);
    out = constant - rows.constants.col(0).array() + shape * (1.0 + d - rise);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double log_y = std::log(datum.y), d = log_y - eta;
    const double a = shape(datum), rise = std::expm1(d), rate = a * std::exp(d);
    out[0] = constant(datum) - log_y + a * (d - rise);
    out[1] = a * rise;
    out[2] = out[4] = -rate;
    out[3] = rate;
  }
  Smoothness smoothness() const override { return {infinity, 1.0}; }
  // E exp(-eta) = exp(-mean + variance / 2)
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const double log_y = std::log(datum.y), d = log_y - mean;
    const double a = shape(datum), rise = std::expm1(d + 0.5 * variance), rate = a * std::exp(d + 0.5 * variance);
    return PointExpectation{
        constant(datum) - log_y + a * (d - rise), a * rise, -0.5 * rate, -rate, 0.5 * rate, -0.25 * rate};
  }
  bool has_closed_form() const override { return true; }
  // f* = constant - log y + a (1 + log y) + lambda (log(lambda / (a y)) - 1), alpha = lambda - a
  bool has_fenchel_conjugate() const override { return true; }
  DualLine dual_line(const Datum& datum) const override {
    return DualLine::in_lambda(-shape(datum), 1.0, infinity);
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    const double a = shape(datum), log_y = std::log(datum.y), ratio = std::log(x / a);
    return {constant(datum) - log_y + (a - x) * (1.0 + log_y) + x * ratio, ratio - log_y, 1.0 / x};
  }
  bool log_concave() const override { return true; }
  bool divides_dispersion() const override { return true; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y); }
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  double conditional_variance(const Datum& row, const double* eta) const override {
    return std::exp(2.0 * *eta) / (row.size * shape_);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double a = shape(datum);
    return datum.y > 0.0 ? lower_gamma(a, a * std::exp(std::log(datum.y) - *eta)) : 0.0;
  }
  // -d P(Y <= y | eta) / d eta = y p(y | eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    derivatives(datum, t, l);
    out[0] = std::log(datum.y) + l[0];
    out[1] = l[1];
    out[2] = l[2];
  }
  bool discrete() const override { return false; }
  Truncation truncation() const override { return Truncation::possible; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    const auto tails = [&](double y) {
      const double a = shape(row), x = a * std::exp(std::log(y) - eta);
      return Tails{lower_gamma(a, x), upper_gamma(a, x)};
    };
    const auto flux = [&](double y, double g[4]) {
      double l[5];
      derivatives(row.at_any(y), eta, l);
      g[0] = std::log(y) + l[0];
      std::copy(l + 1, l + 4, g + 1);
    };
    return interval_by_flux(std::max(row.entry, 0.0), row.exit, support(row), tails, flux, out);
  }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override {
    return std::exp(2.0 * (mean + variance)) / (row.size * shape_);
  }

 protected:
  void set_shape(double shape) {
    shape_ = shape;
    constant_ = constant_of(shape);
  }
  double shape() const { return shape_; }

 private:
  static double constant_of(double a) { return 0.5 * std::log(a) - log_sqrt_2pi - stirling_error(a); }
  double shape(const Datum& datum) const { return datum.size * shape_; }
  double constant(const Datum& datum) const {
    return datum.size == 1.0 ? constant_ : constant_of(shape(datum));
  }
  double shape_ = 1.0, constant_ = -1.0;
};

}  // namespace galvi
