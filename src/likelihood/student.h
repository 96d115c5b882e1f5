// A response with heavy tails, identity link, with scale and degrees of freedom that may be learned.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/identity_link.h"
#include "likelihood/normal.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// y = eta + scale T, T of Student's t with df degrees of freedom: with x = eta - y and w = scale sqrt(df)
/// log p(y | eta) = constant - (df + 1) / 2 log(1 + x^2 / w^2).
class Student final : public IdentityLink {
 public:
  explicit Student(const LikelihoodSpec& spec) : df_parameter_(spec, "df"), scale_parameter_(spec, "scale") {}
  void update(const ConstVectorRef& hyper) override {
    df_ = df_parameter_.read(hyper);
    scale_ = scale_parameter_.read(hyper);
    width_ = scale_ * std::sqrt(df_);
    constant_ =
        log_gamma_ratio(0.5 * df_, 0.5) - 0.5 * std::log(3.14159265358979323846 * df_) - std::log(scale_);
    slope_in_df_ = 0.5 * (digamma(0.5 * (df_ + 1.0)) - digamma(0.5 * df_) - 1.0 / df_);
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return constant_ - 0.5 * (df_ + 1.0) * log_spread(*eta - datum.y);
  }
  // log(1 + x^2 / w^2) is 2 Re log(x + i w) but for a constant; its k-th derivative is
  // 2 (-1)^(k - 1) (k - 1)! Re z^k, z = 1 / (x + i w).
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double x = eta - datum.y, scale = 1.0 / (x * x + width_ * width_), power = df_ + 1.0;
    const double re = scale * x, im = -scale * width_;
    const double re2 = (re - im) * (re + im), im2 = 2.0 * re * im;
    out[0] = constant_ - 0.5 * power * log_spread(x);
    out[1] = -power * re;
    out[2] = power * re2;
    out[3] = -2.0 * power * (re2 * re - im2 * im);
    out[4] = 6.0 * power * (re2 - im2) * (re2 + im2);
  }
  Smoothness smoothness() const override { return {width_, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override { return {width_, 0.0, datum.y}; }
  bool super_gaussian() const override { return true; }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override { return datum.y; }

  // With df <= 1 there is no mean: eta is the location.
  double conditional_variance(double /*size*/, const double* /*eta*/) const override {
    return df_ > 2.0 ? scale_ * scale_ * df_ / (df_ - 2.0) : infinity;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return student_cdf((datum.y - *eta) / scale_, df_);
  }

  std::optional<double> predictive_noise(double size, double mean, double /*variance*/) const override {
    return conditional_variance(size, &mean);
  }
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    if (variance == 0.0) return log_density(datum, &mean);
    const double r = datum.y - mean, k = 0.5 * df_;
    return mixture(r, variance, k + 0.5,
                   [r](double v) { return -log_sqrt_2pi - 0.5 * (std::log(v) + r * r / v); });
  }
  std::optional<double> predictive_cdf(const Datum& datum, double mean, double variance) const override {
    if (variance == 0.0) return conditional_cdf(datum, &mean);
    const double r = -std::fabs(datum.y - mean);
    const double low =
        std::exp(mixture(r, variance, 0.5 * df_, [r](double v) { return log_normal_cdf(r / std::sqrt(v)); }));
    return datum.y < mean ? low : 1.0 - low;
  }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    // share = x^2 / (w^2 + x^2)
    const double x = *eta - datum.y, h = std::hypot(x, width_), share = (x / h) * (x / h);
    gradient[df_parameter_.position()] +=
        weight * (slope_in_df_ - 0.5 * log_spread(x) + 0.5 * (df_ + 1.0) / df_ * share);
    gradient[scale_parameter_.position()] += weight * ((df_ + 1.0) * share - 1.0) / scale_;
  }
  bool has_hyper() const override { return true; }

 private:
  double log_spread(double x) const {
    const double z = std::fabs(x) / width_;
    return z < 1e100 ? std::log1p(z * z) : 2.0 * std::log(z);
  }
  // log E g(variance + scale^2 / tau), tau ~ Gamma(df / 2, rate df / 2), which makes Student's t of normals,
  // by the trapezium sum in u = log tau; log g is given. Far on the left the integrand falls as exp(`decay`
  // u).
  template <class LogFunction>
  double mixture(double r, double variance, double decay, LogFunction log_g) const {
    constexpr double exponent = 40.0;  // errors of exp(-40) of the whole
    const double k = 0.5 * df_, squared = scale_ * scale_, c = exponent / k;
    // The line of integration may be shifted by `shift`, where the integrand has grown by exp(k shift^2 / 2).
    const double shift = std::min(1.0, std::sqrt(2.0 * exponent / (k + 0.5)));
    const double step = 6.28318530717958647692 * shift / (exponent + 0.5 * (k + 0.5) * shift * shift);
    const double turn = std::log1p((r * r + variance) / squared);
    const double left = std::min(std::sqrt(2.0 * c) + c, turn + exponent / decay + 5.0);
    const double right = std::min(std::sqrt(2.0 * c), std::log1p(2.0 * c) + 1.0);
    const double low = -(turn > std::sqrt(2.0 * c) ? turn + exponent / decay + 5.0 : left);
    double top = -infinity, sum = 0.0;
    for (Index j = static_cast<Index>(std::floor(low / step)); j * step <= right; ++j) {
      const double u = j * step, term = k * (u - std::expm1(u)) + log_g(variance + squared * std::exp(-u));
      if (term == -infinity) continue;
      if (term > top) {
        sum = sum * std::exp(top - term) + 1.0;
        top = term;
      } else {
        sum += std::exp(term - top);
      }
    }
    // k log k - k - log Gamma(k) = log(k) / 2 - log(2 pi) / 2 - (what Stirling's formula leaves)
    return top + std::log(sum * step) + 0.5 * std::log(k) - log_sqrt_2pi - stirling_error(k);
  }

  PositiveParameter df_parameter_, scale_parameter_;
  double df_ = 1.0, scale_ = 1.0, width_ = 1.0, constant_ = 0.0, slope_in_df_ = 0.0;
};

}  // namespace galvi
