// Angles: von Mises's distribution on the circle, identity link, with a concentration that may be learned.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "function/normal.h"
#include "likelihood/likelihood.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// -pi <= y <= pi, log p(y | eta) = kappa cos(y - eta) - log(2 pi I_0(kappa)), periodic in eta. With the
/// ratios A_k = I_k(kappa) / I_0(kappa) the density is a Fourier series, and so is that under eta ~ N(mean,
/// variance):
///   p(y) = (1 + 2 sum_k c_k cos(k (y - mean))) / (2 pi),   c_k = A_k exp(-k^2 variance / 2).
/// The mean of an angle is its mean direction, and its variance that of the deviation from it, which lies
/// between -pi and pi. Probabilities count from -pi on; they and densities are accurate to 1e-14 absolutely.
/// From `narrow` on the distribution is the normal one on the circle, A_k = exp(-k^2 / (2 kappa)), to 1 /
/// kappa.
class VonMises final : public Likelihood {
 public:
  explicit VonMises(const LikelihoodSpec& spec) : kappa_parameter_(spec, "kappa") {}
  void update(const ConstVectorRef& hyper) override {
    kappa_ = kappa_parameter_.read(hyper);
    ratio_.clear();
    if (kappa_ >= narrow) {
      first_ = 1.0 - 0.5 / kappa_;
      constant_ = 0.5 * std::log(kappa_) - log_sqrt_2pi;
      return;
    }
    // A_k = r_1 .. r_k with r_k = I_k / I_(k - 1) = 1 / (2 k / kappa + r_(k + 1)), which converges from any
    // start where A_k is negligible: A_k is about exp(-k^2 / (2 kappa)) where kappa is large.
    const int last = static_cast<int>(std::ceil(12.0 * std::sqrt(kappa_))) + 30;
    ratio_.resize(static_cast<std::size_t>(last));
    double r = 0.0;
    for (int k = last; k > 0; --k) ratio_[static_cast<std::size_t>(k - 1)] = r = 1.0 / (2.0 * k / kappa_ + r);
    double sum = 1.0;
    for (int k = 1; k < last; ++k) ratio_[static_cast<std::size_t>(k)] *= ratio_[static_cast<std::size_t>(k - 1)];
    for (const double ratio : ratio_) sum += 2.0 * ratio;
    first_ = ratio_[0];
    constant_ = std::log(sum) - std::log(2.0 * pi);  // exp(kappa) = I_0 (1 + 2 sum_k A_k)
  }

  double log_density(const Datum& datum, const double* eta) const override {
    const double half = std::sin(0.5 * (datum.y - *eta));
    return constant_ - 2.0 * kappa_ * half * half;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double s = kappa_ * std::sin(datum.y - eta), c = kappa_ * std::cos(datum.y - eta);
    out[0] = log_density(datum, &eta);
    out[1] = s;
    out[2] = -c;
    out[3] = -s;
    out[4] = c;
  }
  // |cos(x + i y)| <= exp(|y|)
  Smoothness smoothness() const override { return {infinity, 0.0, 0.0, 0.0, 1.0}; }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  std::optional<double> mode(const Datum& datum) const override { return datum.y; }

  // E cos(y - eta) = exp(-variance / 2) cos(y - mean)
  bool has_closed_form() const override { return true; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean, double variance) const override {
    const double left = std::exp(-0.5 * variance), half = std::sin(0.5 * (datum.y - mean));
    const double s = kappa_ * left * std::sin(datum.y - mean), c = kappa_ * left * std::cos(datum.y - mean);
    const double value = constant_ + kappa_ * std::expm1(-0.5 * variance) - 2.0 * kappa_ * left * half * half;
    return PointExpectation{value, s, -0.5 * c, -c, -0.5 * s, 0.25 * c};
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    gradient[kappa_parameter_.position()] += weight * (std::cos(datum.y - *eta) - first_);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double expected = std::exp(-0.5 * *variance) * std::cos(datum.y - *mean);
    gradient[kappa_parameter_.position()] += weight * (expected - first_);
    return true;
  }
  bool has_hyper() const override { return true; }

  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return direction(*eta); }
  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override { return variance_of(0.0); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return tails(datum.y, *eta, 0.0).lower;
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {-pi, pi}; }

  std::optional<double> predictive_mean(const Datum& /*row*/, double mean, double /*variance*/) const override {
    return direction(mean);
  }
  // Of the deviation of eta from its mean direction; the noise is what the response's has more.
  std::optional<double> predictive_mean_variance(const Datum& /*row*/, double, double variance) const override {
    return eta_variance(variance);
  }
  std::optional<double> predictive_noise(const Datum& /*row*/, double, double variance) const override {
    return variance_of(variance) - eta_variance(variance);
  }
  std::optional<double> predictive_log_density(const Datum& datum, double mean, double variance) const override {
    if (variance == 0.0) return log_density(datum, &mean);
    if (kappa_ >= narrow && variance < wide) {
      const double v = variance + 1.0 / kappa_, d = direction(datum.y - mean);
      return -0.5 * (d * d / v + std::log(v)) - log_sqrt_2pi;
    }
    double sum = 1.0;
    for_terms(variance, [&](double k, double c) { sum += 2.0 * c * std::cos(k * (datum.y - mean)); });
    return std::log(std::max(sum, least)) - std::log(2.0 * pi);
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    return tails(datum.y, mean, variance);
  }

 private:
  static constexpr double least = 1e-16;
  static constexpr double narrow = 1e6;  // of kappa
  static constexpr double wide = 0.1;    // variance of eta, from which on whole turns count

  /// The angle between -pi and pi.
  static double direction(double angle) { return std::remainder(angle, 2.0 * pi); }

  /// Calls body(k, c_k) for all that are not negligible.
  template <class Body>
  void for_terms(double variance, Body body) const {
    for (std::size_t j = 0; kappa_ >= narrow || j < ratio_.size(); ++j) {
      const double k = static_cast<double>(j + 1);
      const double ratio = kappa_ >= narrow ? std::exp(-0.5 * k * k / kappa_) : ratio_[j];
      const double c = ratio * std::exp(-0.5 * k * k * variance);
      if (!(c > 1e-18)) break;
      body(k, c);
    }
  }

  // P(Y <= y) = (y + pi) / (2 pi) + sum_k c_k (sin(k (y - mean)) + sin(k (pi + mean))) / (k pi)
  Tails tails(double y, double mean, double variance) const {
    if (y <= -pi) return {0.0, 1.0};
    if (y >= pi) return {1.0, 0.0};
    if (kappa_ >= narrow && variance < wide) {
      const double sd = std::sqrt(variance + 1.0 / kappa_), m = direction(mean);
      double lower = 0.0;
      for (const double turn : {-2.0 * pi, 0.0, 2.0 * pi})
        lower += normal_cdf((y - m - turn) / sd) - normal_cdf((-pi - m - turn) / sd);
      lower = std::min(std::max(lower, least), 1.0 - least);
      return {lower, 1.0 - lower};
    }
    double sum = 0.5 * (y + pi);
    for_terms(variance, [&](double k, double c) {
      sum += c * (std::sin(k * (y - mean)) + std::sin(k * (pi + mean))) / k;
    });
    const double lower = std::min(std::max(sum / pi, least), 1.0 - least);
    return {lower, 1.0 - lower};
  }

  // E d^2 of a deviation d with E cos(k d) = c_k: pi^2 / 3 + 4 sum_k (-1)^k c_k / k^2
  double variance_of(double variance) const {
    if (kappa_ >= narrow && variance < wide) return variance + 1.0 / kappa_;
    double sum = pi * pi / 3.0;
    for_terms(variance, [&](double k, double c) { sum += (std::fmod(k, 2.0) == 1.0 ? -4.0 : 4.0) * c / (k * k); });
    return sum;
  }
  // The same of eta itself, of which less than 1e-16 lies beyond pi where it is narrow.
  static double eta_variance(double variance) {
    if (variance < wide) return variance;
    double sum = pi * pi / 3.0, sign = -4.0;
    for (double k = 1.0; k * k * variance < 80.0; ++k, sign = -sign)
      sum += sign * std::exp(-0.5 * k * k * variance) / (k * k);
    return sum;
  }

  PositiveParameter kappa_parameter_;
  double kappa_ = 1.0, constant_ = 0.0, first_ = 0.0;  // first_: A_1
  std::vector<double> ratio_;  // A_1, A_2, ..
};

}  // namespace galvi
