// Responses with exponential noise on either side of eta, identity link, with a scale that may be learned.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "function/normal.h"
#include "likelihood/identity_link.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// With r = y - eta, log p(y | eta) = log(a b / (a + b)) - a max(r, 0) - b max(-r, 0), whose rates a = above
/// and b = below are two numbers divided by the scale: P(y < eta) = a / (a + b). That is constant - half |r| -
/// tilt r, half = (a + b) / 2, tilt = (a - b) / 2.
class DoubleExponential : public IdentityLink {
 public:
  /// The rates if the scale is 1.
  DoubleExponential(PositiveParameter scale, double above, double below)
      : parameter_(std::move(scale)), unit_above_(above), unit_below_(below) {}
  void update(const ConstVectorRef& hyper) override { set(parameter_.read(hyper)); }
  void set(double scale) {
    scale_ = scale;
    above_ = unit_above_ / scale_;
    below_ = unit_below_ / scale_;
    half_ = 0.5 * (above_ + below_);
    tilt_ = 0.5 * (above_ - below_);
    share_below_ = unit_above_ / (unit_above_ + unit_below_);
    constant_ = std::log(share_below_ * unit_below_) - std::log(scale_);
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return constant_ - loss(datum.y - *eta);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto r = (rows.data.y - eta.col(0)).array();
    out = constant_ - above_ * r.max(0.0) + below_ * r.min(0.0);
  }
  // At the kink, and for its curvature, those to the left and to the right of it.
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double residual = datum.y - eta;
    out[0] = constant_ - loss(residual);
    out[1] = slope(residual);
    out[2] = out[3] = out[4] = 0.0;
  }
  Smoothness smoothness() const override { return {0.0, 0.0}; }
  // With r = y - eta, d = (y - mean) / sd:  E|r| = sd [d erf(d / sqrt 2) + 2 phi(d)],  dE|r| / dmean =
  // -erf(d / sqrt 2),  d^2 E|r| / dmean^2 = 2 phi(d) / sd.
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const double residual = datum.y - mean, sd = std::sqrt(variance);
    const double d = sd > 0.0 ? residual / sd : std::copysign(infinity, residual);
    const double density = normal_density(d);
    if (density == 0.0) {
      return PointExpectation{constant_ - loss(residual), slope(residual), 0.0, 0.0, 0.0, 0.0};
    }
    const double curvature = 2.0 * density / sd * half_;
    return PointExpectation{constant_ - expected_loss(residual, sd, d, density),
                            std::erf(d * sqrt_half) * half_ + tilt_,
                            -0.5 * curvature,
                            -curvature,
                            -0.5 * curvature * d / sd,
                            -0.25 * curvature * (d - 1.0) * (d + 1.0) / variance};
  }
  bool has_closed_form() const override { return true; }
  /// E of a max(y - eta, 0) + b max(eta - y, 0).
  PointExpectation expected_loss(const Datum& datum, double mean, double variance) const {
    const PointExpectation e = *closed_form(datum, mean, variance);
    const double residual = datum.y - mean, sd = std::sqrt(variance);
    const double d = sd > 0.0 ? residual / sd : infinity;
    const double loss = expected_loss(residual, sd, d, normal_density(d));
    return {loss, -e.d_m, -e.d_v, -e.d_mm, -e.d_mv, -e.d_vv};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return *eta + mean_noise(); }
  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override {
    return 1.0 / (above_ * above_) + 1.0 / (below_ * below_);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double r = datum.y - *eta;
    return r < 0.0 ? share_below_ * std::exp(below_ * r) : 1.0 - share_above() * std::exp(-above_ * r);
  }

  std::optional<double> predictive_mean(const Datum& /*row*/, double mean, double /*variance*/) const override {
    return mean + mean_noise();
  }
  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  // Below y the density of eta is that of N(mean + a variance, variance) and above it that of
  // N(mean - b variance, variance), the rates times the weight, each cut off at y.
  std::optional<TiltedMoments> tilted(const Datum& datum, double weight, double mean,
                                      double variance) const override {
    const double sd = std::sqrt(variance), a = weight * above_, b = weight * below_, r = datum.y - mean;
    const double log_low = log_normal_exponential(r, sd, a), log_high = log_normal_exponential(-r, sd, b);
    const Cut low(r / sd - a * sd), high(-r / sd - b * sd);
    const double share = 1.0 / (1.0 + std::exp(log_low - log_high)),
                 rest = 1.0 / (1.0 + std::exp(log_high - log_low));
    // of the part that y cuts off, from y; of the part that it does not, from the mean
    const double low_mean =
        low.at < 0.0 ? datum.y - sd * low.distance : mean + a * variance - sd * low.hazard;
    const double high_mean =
        high.at < 0.0 ? datum.y + sd * high.distance : mean - b * variance + sd * high.hazard;
    const double apart = low.distance + high.distance;
    return TiltedMoments{
        weight * constant_ + std::max(log_low, log_high) +
            std::log1p(std::exp(-std::fabs(log_low - log_high))),
        rest * low_mean + share * high_mean,
        variance * (rest * low.variance + share * high.variance + share * rest * apart * apart)};
  }
  // p(y) = exp(constant) (T_a(r) + T_b(-r)), r = y - mean, log T_a(r) = log_normal_exponential(r, sd, a)
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    const double r = datum.y - mean, sd = std::sqrt(variance);
    if (sd == 0.0) return log_density(datum, &mean);
    const double one = log_normal_exponential(r, sd, above_), other = log_normal_exponential(-r, sd, below_);
    return constant_ + std::max(one, other) + std::log1p(std::exp(-std::fabs(one - other)));
  }
  // With w = P(y < eta), P(Y <= y) = Phi(r / sd) - (1 - w) T_a(r) + w T_b(-r), and P(Y > y) by symmetry.
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double r = datum.y - mean, sd = std::sqrt(variance), z = r / sd;
    const bool left = r < 0.0;
    if (sd == 0.0) {
      const double far = left ? share_below_ * std::exp(below_ * r) : share_above() * std::exp(-above_ * r);
      return left ? Tails{far, 1.0 - far} : Tails{1.0 - far, far};
    }
    const double one = share_above() * std::exp(log_normal_exponential(r, sd, above_)),
                 other = share_below_ * std::exp(log_normal_exponential(-r, sd, below_));
    return Tails{normal_cdf(z) - one + other, normal_cdf(-z) + one - other};
  }

  // d log p / d scale = (half |r| + tilt r - 1) / scale
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    gradient[parameter_.position()] += weight * (loss(datum.y - *eta) - 1.0) / scale_;
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double residual = datum.y - *mean, sd = std::sqrt(*variance);
    const double d = sd > 0.0 ? residual / sd : infinity;
    gradient[parameter_.position()] +=
        weight * (expected_loss(residual, sd, d, normal_density(d)) - 1.0) / scale_;
    return true;
  }
  bool has_hyper() const override { return parameter_.in_table(); }

 private:
  /// N(0, 1) cut off at `at`, below which it is kept: its hazard phi / Phi, the distance of its mean from the
  /// cut, and its variance.
  struct Cut {
    explicit Cut(double at) : at(at) {
      double f[5];
      log_normal_cdf_derivatives(at, f);
      hazard = f[1];
      // distance = hazard + at, variance = 1 - hazard distance, without cancellation where `at` is far out
      distance = at < 0.0 ? -f[2] / f[1] : f[1] + at;
      variance = at < 0.0 ? distance * distance - f[3] / f[1] : 1.0 + f[2];
    }
    double at, hazard, distance, variance;
  };
  static constexpr double sqrt_half = 0.70710678118654752440;
  double share_above() const { return unit_below_ / (unit_above_ + unit_below_); }
  double mean_noise() const { return unit_above_ == unit_below_ ? 0.0 : 1.0 / above_ - 1.0 / below_; }
  double loss(double r) const { return r < 0.0 ? -below_ * r : above_ * r; }
  double slope(double r) const { return r == 0.0 ? tilt_ : r < 0.0 ? -below_ : above_; }
  // E loss = half E|r| + tilt E r
  double expected_loss(double residual, double sd, double d, double density) const {
    const double distance =
        std::fabs(residual) * std::erf(std::fabs(d) * sqrt_half) + 2.0 * sd * density;
    return half_ * distance + tilt_ * residual;
  }
  PositiveParameter parameter_;
  double unit_above_, unit_below_;
  double scale_ = 1.0, above_ = 1.0, below_ = 1.0, half_ = 1.0, tilt_ = 0.0, share_below_ = 0.5;
  double constant_ = -0.69314718055994530942;
};

}  // namespace galvi
