// Positive responses with a long tail, log link, with a dispersion that may be learned.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// Mean exp(eta), variance phi exp(3 eta), phi = dispersion / size: with d = log y - eta
///   log p(y | eta) = -log(2 pi phi y^3) / 2 - w (exp(d) - 1)^2,   w = 1 / (2 phi y),
/// which is convex where the mean is more than 2 y.
class InverseGaussian final : public LogLink<Likelihood> {
 public:
  explicit InverseGaussian(const LikelihoodSpec& spec)
      : InverseGaussian(spec, PositiveParameter(spec, "dispersion")) {}
  InverseGaussian(const LikelihoodSpec&, PositiveParameter dispersion) : parameter_(std::move(dispersion)) {}
  void update(const ConstVectorRef& hyper) override { set(parameter_.read(hyper)); }
  void set(double dispersion) { dispersion_ = dispersion; }

  double log_density(const Datum& datum, const double* eta) const override {
    const double distance = std::expm1(std::log(datum.y) - *eta);
    return constant(datum) - weight(datum) * distance * distance;
  }
  // constants: log y, log(size / (2 pi y^3)) / 2, size / (2 y)
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    const auto y = out.data.y.array(), size = out.data.size.array();
    out.constants.resize(out.size(), 3);
    out.constants.col(0) = y.log();
    out.constants.col(1) = 0.5 * size.log() - log_sqrt_2pi - 1.5 * y.log();
    out.constants.col(2) = 0.5 * size / y;
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_shapes(rows, eta, 1.0 / dispersion_, -std::log(dispersion_), out);
  }
  /// out <- log p for dispersions of 1 / shape.
  template <class Shape, class Log>
  static void with_shapes(const PreparedRows& rows, const ConstMatrixRef& eta, const Shape& shape, const Log& log_shape,
                          ArrayRef out) {
    RowArray distance = (rows.constants.col(0) - eta.col(0)).array();
    exp_each(distance);
    out = rows.constants.col(1).array() + 0.5 * log_shape -
          shape * rows.constants.col(2).array() * (distance - 1.0).square();
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
  // With a = E exp(2 d) and b = E exp(d), the derivatives of E (exp(d) - 1)^2 = a - 2 b + 1 are differences of
  // multiples of a and b.
  bool has_closed_form() const override { return true; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const PointExpectation loss = expected_loss(datum, mean, variance);
    return PointExpectation{constant(datum) - loss.value, -loss.d_m,  -loss.d_v,
                            -loss.d_mm,                   -loss.d_mv, -loss.d_vv};
  }
  /// E w (exp(d) - 1)^2.
  PointExpectation expected_loss(const Datum& datum, double mean, double variance) const {
    const Moments moments(std::log(datum.y) - mean, variance);
    const double w = weight(datum), bend = moments.difference(2.0);
    return {w * moments.distance(), -2.0 * w * moments.difference(1.0), w * bend,
            2.0 * w * bend,         -w * moments.difference(4.0),       0.5 * w * moments.difference(8.0)};
  }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return true; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y); }
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  double conditional_variance(const Datum& row, const double* eta) const override {
    return phi(row.size) * std::exp(3.0 * *eta);
  }
  // Phi(z (x - 1)) + exp(2 / (phi mean)) Phi(-z (x + 1)), x = y / mean, z = 1 / sqrt(phi y): with Mills' ratio
  // R the second term is phi(z (x - 1)) R(z (x + 1)).
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (!(datum.y > 0.0)) return 0.0;
    const double log_y = std::log(datum.y), d = log_y - *eta;
    const double z = std::exp(-0.5 * (std::log(phi(datum.size)) + log_y));  // where phi y underflows, too
    const double at = z * std::expm1(d), far = z * (std::exp(d) + 1.0);
    return std::min(normal_cdf(at) + std::exp(log_mills_ratio(far) - 0.5 * at * at - log_sqrt_2pi), 1.0);
  }
  bool discrete() const override { return false; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override {
    return phi(row.size) * std::exp(3.0 * mean + 4.5 * variance);
  }

  // d log p / d dispersion = (2 w (exp(d) - 1)^2 - 1) / (2 dispersion)
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const Moments moments(std::log(datum.y) - *mean, *variance);
    gradient[parameter_.position()] +=
        weight * (2.0 * this->weight(datum) * moments.distance() - 1.0) / (2.0 * dispersion_);
    return true;
  }
  bool has_hyper() const override { return parameter_.in_table(); }

 private:
  /// a = E exp(2 d) and b = E exp(d) under d ~ N(mean, variance); a overflows wherever b does.
  struct Moments {
    Moments(double mean, double variance)
        : a(std::exp(2.0 * (mean + variance))),
          b(std::exp(mean + 0.5 * variance)),
          rise(std::expm1(mean + 0.5 * variance)),
          log_ratio(mean + 1.5 * variance),
          spread(variance > 0.0 ? a * -std::expm1(-variance) : 0.0) {}
    /// E (exp(d) - 1)^2
    double distance() const { return rise * rise + spread; }
    /// k a - b
    double difference(double k) const {
      if (k == 1.0 && std::fabs(log_ratio) < 1.0) return b * std::expm1(log_ratio);
      return a < infinity ? k * a - b : infinity;
    }
    double a, b, rise, log_ratio, spread;
  };
  double weight(const Datum& datum) const { return 0.5 / (phi(datum.size) * datum.y); }
  double phi(double size) const { return dispersion_ / size; }
  double constant(const Datum& datum) const {
    return -log_sqrt_2pi - 0.5 * std::log(phi(datum.size)) - 1.5 * std::log(datum.y);
  }

  PositiveParameter parameter_;
  double dispersion_ = 1.0;
};

}  // namespace galvi
