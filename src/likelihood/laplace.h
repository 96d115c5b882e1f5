// A response with double exponential noise, identity link, with a scale that may be learned.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/identity_link.h"
#include "likelihood/normal.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// log p(y | eta) = -log(2 scale) - |y - eta| / scale.
class Laplace final : public IdentityLink {
 public:
  explicit Laplace(const LikelihoodSpec& spec) : parameter_(spec, "scale") {}
  void update(const ConstVectorRef& hyper) override {
    scale_ = parameter_.read(hyper);
    constant_ = -std::log(2.0 * scale_);
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return constant_ - std::fabs(datum.y - *eta) / scale_;
  }
  // At the kink, and for its curvature, those to the left and to the right of it.
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double residual = datum.y - eta;
    out[0] = constant_ - std::fabs(residual) / scale_;
    out[1] = slope(residual);
    out[2] = out[3] = out[4] = 0.0;
  }
  Smoothness smoothness() const override { return {0.0, 0.0}; }
  bool super_gaussian() const override { return true; }
  // With x = y - eta, d = (y - mean) / sd:  E|x| = sd [d erf(d / sqrt 2) + 2 phi(d)],  dE|x| / dmean =
  // -erf(d / sqrt 2),  d^2 E|x| / dmean^2 = 2 phi(d) / sd.
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const double residual = datum.y - mean, sd = std::sqrt(variance), rate = 1.0 / scale_;
    const double d = sd > 0.0 ? residual / sd : std::copysign(infinity, residual);
    const double density = normal_density(d);
    if (density == 0.0) {
      return PointExpectation{constant_ - std::fabs(residual) * rate, slope(residual), 0.0, 0.0, 0.0, 0.0};
    }
    const double curvature = 2.0 * density / sd * rate;
    return PointExpectation{constant_ - mean_distance(residual, sd, d, density) * rate,
                            std::erf(d * sqrt_half) * rate,
                            -0.5 * curvature,
                            -curvature,
                            -0.5 * curvature * d / sd,
                            -0.25 * curvature * (d - 1.0) * (d + 1.0) / variance};
  }
  bool has_closed_form() const override { return true; }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }

  double conditional_variance(double /*size*/, const double* /*eta*/) const override {
    return 2.0 * scale_ * scale_;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double z = (datum.y - *eta) / scale_;
    return z < 0.0 ? 0.5 * std::exp(z) : 1.0 - 0.5 * std::exp(-z);
  }

  std::optional<double> predictive_noise(double, double, double) const override {
    return 2.0 * scale_ * scale_;
  }
  // Below y the density is that of N(mean + variance / s, variance) and above it that of
  // N(mean - variance / s, variance), s = scale / weight, each cut off at y.
  std::optional<TiltedMoments> tilted(const Datum& datum, double weight, double mean,
                                      double variance) const override {
    const double sd = std::sqrt(variance), s = scale_ / weight, r = datum.y - mean;
    const double log_low = log_half(r, sd, s), log_high = log_half(-r, sd, s);
    const Cut low(r / sd - sd / s), high(-r / sd - sd / s);
    const double share = 1.0 / (1.0 + std::exp(log_low - log_high)),
                 rest = 1.0 / (1.0 + std::exp(log_high - log_low));
    // of the part that y cuts off, from y; of the part that it does not, from the mean
    const double low_mean =
        low.at < 0.0 ? datum.y - sd * low.distance : mean + variance / s - sd * low.hazard;
    const double high_mean =
        high.at < 0.0 ? datum.y + sd * high.distance : mean - variance / s + sd * high.hazard;
    const double apart = low.distance + high.distance;
    return TiltedMoments{
        weight * constant_ + std::max(log_low, log_high) +
            std::log1p(std::exp(-std::fabs(log_low - log_high))),
        rest * low_mean + share * high_mean,
        variance * (rest * low.variance + share * high.variance + share * rest * apart * apart)};
  }
  // p(y) = (T(r) + T(-r)) / (2 scale), r = y - mean, T as below
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    const double r = datum.y - mean, sd = std::sqrt(variance);
    if (sd == 0.0) return log_density(datum, &mean);
    const double one = log_half(r, sd, scale_), other = log_half(-r, sd, scale_);
    return constant_ + std::max(one, other) + std::log1p(std::exp(-std::fabs(one - other)));
  }
  // P(Y <= y) = Phi(r / sd) - (T(r) - T(-r)) / 2 for r <= 0, by symmetry beyond.
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double r = -std::fabs(datum.y - mean), sd = std::sqrt(variance);
    const double far = sd == 0.0 ? 0.5 * std::exp(r / scale_)
                                 : normal_cdf(r / sd) - 0.5 * (std::exp(log_half(r, sd, scale_)) -
                                                               std::exp(log_half(-r, sd, scale_)));
    return datum.y < mean ? Tails{far, 1.0 - far} : Tails{1.0 - far, far};
  }

  // d log p / d scale = (|y - eta| / scale - 1) / scale
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    gradient[parameter_.position()] += weight * (std::fabs(datum.y - *eta) / scale_ - 1.0) / scale_;
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double residual = datum.y - *mean, sd = std::sqrt(*variance);
    const double d = sd > 0.0 ? residual / sd : infinity;
    const double distance = mean_distance(residual, sd, d, normal_density(d));
    gradient[parameter_.position()] += weight * (distance / scale_ - 1.0) / scale_;
    return true;
  }
  bool has_hyper() const override { return true; }

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
  double slope(double residual) const {
    return residual == 0.0 ? 0.0 : std::copysign(1.0 / scale_, residual);
  }
  static double mean_distance(double residual, double sd, double d, double density) {
    return std::fabs(residual) * std::erf(std::fabs(d) * sqrt_half) + 2.0 * sd * density;
  }
  // log T(r), T(r) = exp(sd^2 / (2 scale^2) - r / scale) Phi(-t) = exp(-r^2 / (2 sd^2)) Phi(-t) / phi(t)
  // phi(0), t = sd / scale - r / sd: twice the scale times the part of the predictive density from the noise
  // above 0.
  static double log_half(double r, double sd, double scale) {
    const double ratio = sd / scale, z = r / sd, t = ratio - z;
    return t > 0.0 ? -0.5 * z * z - log_sqrt_2pi + log_mills_ratio(t)
                   : 0.5 * ratio * ratio - r / scale + log_normal_cdf(-t);
  }

  PositiveParameter parameter_;
  double scale_ = 1.0, constant_ = -0.69314718055994530942;
};

}  // namespace galvi
