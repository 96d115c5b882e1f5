// Responses that are zero or positive, log link: sums of gamma variables whose number is Poisson.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "likelihood/compound_poisson.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// Mean m = exp(eta), variance phi m^p, phi = dispersion / size, p = power, 1 < p < 2: with d = eta - log y and
/// w = y^(2-p) / phi
///   log p(y | eta) = -w [(exp((1-p) d) - 1) / (p-1) + (exp((2-p) d) - 1) / (2-p)] + log p(y | log y),
///   log p(0 | eta) = -exp((2-p) eta) / ((2-p) phi).
/// It is the sum of a Poisson number, of mean exp((2-p) eta) / ((2-p) phi), of gamma variables of shape
/// (2-p) / (p-1) and scale phi (p-1) exp((p-1) eta), of which p(y | log y) is a series.
class Tweedie final : public LogLink<Likelihood> {
 public:
  explicit Tweedie(const LikelihoodSpec& spec) : Tweedie(spec, PositiveParameter(spec, "dispersion")) {}
  Tweedie(const LikelihoodSpec& spec, PositiveParameter dispersion)
      : dispersion_of_(std::move(dispersion)), power_of_(spec, "power") {}
  void update(const ConstVectorRef& hyper) override {
    power_ = power_of_.read(hyper);
    if (!(power_ > 1.0 && power_ < 2.0)) throw std::domain_error("tweedie: `power` must be between 1 and 2");
    down_ = power_ - 1.0;
    up_ = 2.0 - power_;
    table_ = std::make_shared<CompoundPoissonTable>(up_ / down_);
    if (dispersion_of_.in_table()) set(dispersion_of_.read(hyper));
  }
  void set(double dispersion) { dispersion_ = dispersion; }

  double log_density(const Datum& datum, const double* eta) const override {
    return closed_form(datum, *eta, 0.0)->value;
  }
  // constants: log y, zero where y is, and log size
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 2);
    out.constants << (out.data.y.array() > 0.0).select(out.data.y.array().log(), 0.0), out.data.size.array().log();
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto positive = rows.data.y.array() > 0.0;
    const auto log_y = rows.constants.col(0).array();
    const RowArray log_phi = std::log(dispersion_) - rows.constants.col(1).array(), d = eta.col(0).array() - log_y;
    const RowArray log_w = up_ * log_y - log_phi;
    const RowArray log_rate = positive.select(log_w - std::log(up_), std::numeric_limits<double>::quiet_NaN());
    const auto grown = [](const auto& x) { return x.unaryExpr([](double own) { return std::expm1(own); }); };
    table_->log_densities(log_rate, out);
    out -= log_y + log_w.exp() * (grown(-down_ * d) / down_ + grown(up_ * d) / up_);
    out = positive.select(out, -(up_ * d - log_phi).exp() / up_);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const PointExpectation l = kernel(datum, eta, 0.0);
    out[0] = l.value + at_mean(datum);
    out[1] = l.d_m;
    out[2] = l.d_mm;
    out[3] = 2.0 * l.d_mv;
    out[4] = 4.0 * l.d_vv;
  }
  Smoothness smoothness() const override { return {infinity, 1.0}; }
  bool has_closed_form() const override { return true; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    PointExpectation out = kernel(datum, mean, variance);
    out.value += at_mean(datum);
    return out;
  }
  bool log_concave() const override { return true; }
  bool divides_dispersion() const override { return true; }
  // No response at all: half of one is expected.
  std::optional<double> mode(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::nullopt;
  }
  double starting_eta(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::clamp(std::log(0.5 * up_ * phi(datum.size)) / up_, -30.0, 30.0);
  }

  double conditional_variance(const Datum& row, const double* eta) const override {
    return phi(row.size) * std::exp(power_ * *eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 0.0) return 0.0;
    if (std::isnan(*eta)) return *eta;
    const double own = phi(datum.size), rate = std::exp(up_ * *eta) / (up_ * own);
    const double scale = own * down_ * std::exp(down_ * *eta);
    if (!(rate < infinity && scale < infinity)) return 0.0;
    return compound_poisson_cdf(datum.y > 0.0 ? datum.y / scale : 0.0, rate, up_ / down_);
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }
  bool mass_at_lowest() const override { return true; }

  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override {
    return phi(row.size) * std::exp(power_ * (mean + 0.5 * power_ * variance));
  }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  // All but p(y | log y) is inversely proportional to phi, and so is the rate of that one. The power also moves the
  // series' shape, (2 - p) / (p - 1), by -1 / (p - 1)^2, and its rate, y^(2 - p) / ((2 - p) phi).
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    double in_log_phi = -kernel(datum, *mean, *variance).value, in_power = kernel_power_slope(datum, *mean, *variance);
    if (datum.y > 0.0) {
      const double rate = rate_at(datum);
      const CompoundPoissonDensity own(datum.y, rate, up_ / down_, CompoundPoissonDensity::Slopes::both);
      in_log_phi -= own.rate_slope * rate;
      in_power += own.rate_slope * rate * (1.0 / up_ - std::log(datum.y)) - own.shape_slope / (down_ * down_);
    }
    gradient[power_of_.position()] += weight * in_power;
    if (dispersion_of_.in_table()) gradient[dispersion_of_.position()] += weight * in_log_phi / dispersion_;
    return true;
  }
  bool has_hyper() const override { return true; }
  double power() const { return power_; }

 private:
  double phi(double size) const { return dispersion_ / size; }
  /// E log p(y | eta) - log p(y | log y): two log-normal means.
  PointExpectation kernel(const Datum& datum, double mean, double variance) const {
    const double y = datum.y, log_y = y > 0.0 ? std::log(y) : 0.0, w = std::exp(up_ * log_y) / phi(datum.size);
    const double d = mean - log_y, rise = up_ * d + 0.5 * up_ * up_ * variance, b = w * std::exp(rise);
    if (!(y > 0.0)) {
      return {-b / up_, -b, -0.5 * up_ * b, -up_ * b, -0.5 * up_ * up_ * b, -0.25 * up_ * up_ * up_ * b};
    }
    const double fall = -down_ * d + 0.5 * down_ * down_ * variance, a = w * std::exp(fall);
    const double bend = -(down_ * a + up_ * b);
    return {-w * (std::expm1(fall) / down_ + std::expm1(rise) / up_),
            std::fabs(fall - rise) < 1.0 ? b * std::expm1(fall - rise) : a - b,
            0.5 * bend,
            bend,
            0.5 * (down_ * down_ * a - up_ * up_ * b),
            -0.25 * (down_ * down_ * down_ * a + up_ * up_ * up_ * b)};
  }
  /// The derivative of kernel().value in p.
  double kernel_power_slope(const Datum& datum, double mean, double variance) const {
    const double y = datum.y, log_y = y > 0.0 ? std::log(y) : 0.0, w = std::exp(up_ * log_y) / phi(datum.size);
    const double d = mean - log_y, rise = up_ * d + 0.5 * up_ * up_ * variance;
    if (!(y > 0.0)) return w * std::exp(rise) * (d + up_ * variance - 1.0 / up_) / up_;
    const double fall = -down_ * d + 0.5 * down_ * down_ * variance;
    return w * (power_part(up_, rise, mean, log_y, variance) - power_part(-down_, fall, mean, log_y, variance));
  }
  // Of -y^(2 - p) (e^x - 1) / c at c = 2 - p, and less that at c = 1 - p:
  //   [log y (e^x - 1) + e^x (d + c variance) - (e^x - 1) / c] / c.
  // Where e^x is large, infinite terms of both signs are avoided.
  static double power_part(double c, double x, double mean, double log_y, double variance) {
    const double e = std::exp(x), rest = std::expm1(x);
    if (x > 1.0) return (e * (mean + c * variance - 1.0 / c) - log_y + 1.0 / c) / c;
    return (log_y * rest + e * (mean - log_y + c * variance) - rest / c) / c;
  }
  double rate_at(const Datum& datum) const {
    return std::exp(up_ * std::log(datum.y)) / (up_ * phi(datum.size));
  }
  CompoundPoissonDensity series(const Datum& datum) const {
    return CompoundPoissonDensity(datum.y, rate_at(datum), up_ / down_);
  }
  double at_mean(const Datum& datum) const { return datum.y > 0.0 ? series(datum).log_value : 0.0; }

  PositiveParameter dispersion_of_, power_of_;
  std::shared_ptr<const CompoundPoissonTable> table_ = std::make_shared<CompoundPoissonTable>(1.0);
  double power_ = 1.5, down_ = 0.5, up_ = 0.5, dispersion_ = 1.0;
};

}  // namespace galvi
