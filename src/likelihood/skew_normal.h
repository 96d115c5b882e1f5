// A skewed response: normal noise, of which one side is longer.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "function/composition.h"
#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/identity_link.h"
#include "likelihood/interval.h"
#include "likelihood/positive_parameter.h"
#include "likelihood/real_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// The skew normal distribution of mean 0 and sd 1, of which alpha determines the skewness: (Z + shift) /
/// scale, where Z has the density 2 phi(z) Phi(alpha z), mean shift = delta sqrt(2 / pi) and variance scale^2
/// = 1 - shift^2, delta = alpha / sqrt(1 + alpha^2).
struct SkewShape {
  static constexpr double sqrt_2_by_pi = 0.79788456080286535588;
  explicit SkewShape(double alpha)
      : alpha(alpha),
        delta(alpha / std::hypot(1.0, alpha)),
        shift(sqrt_2_by_pi * delta),
        // 1 + alpha^2 (1 - 2 / pi) over 1 + alpha^2: neither ratio overflows
        scale(std::hypot(std::sqrt(1.0 - sqrt_2_by_pi * sqrt_2_by_pi) * delta, 1.0 / std::hypot(1.0, alpha))) {}
  double alpha, delta, shift, scale;

  /// d delta / d alpha
  double slope() const {
    const double h = std::hypot(1.0, alpha);
    return 1.0 / (h * h * h);
  }
};

/// y = eta + sigma times that variable, so that eta is the mean and sigma the sd. With omega = sigma / scale
/// and z = (y - eta) / omega + shift
///   log p(y | eta) = log 2 - log omega - z^2 / 2 - log(2 pi) / 2 + log Phi(alpha z).
class SkewNormal final : public IdentityLink {
 public:
  explicit SkewNormal(const LikelihoodSpec& spec) : SkewNormal(spec, PositiveParameter(spec, "sigma")) {}
  SkewNormal(const LikelihoodSpec& spec, PositiveParameter sigma)
      : sigma_parameter_(std::move(sigma)), alpha_parameter_(spec, "alpha") {}
  explicit SkewNormal(double alpha) : shape_(alpha) {}
  void update(const ConstVectorRef& hyper) override {
    if (sigma_parameter_.in_table()) set(sigma_parameter_.read(hyper));
    shape_ = SkewShape(alpha_parameter_.read(hyper));
  }
  /// sigma
  void set(double sigma) { sigma_ = sigma; }
  const SkewShape& shape() const { return shape_; }

  double log_density(const Datum& datum, const double* eta) const override {
    return *predictive_log_density(datum, *eta, 0.0);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const double omega = sigma_ / shape_.scale;
    const RowArray z = (rows.data.y - eta.col(0)).array() / omega + shape_.shift;
    RowArray tail = shape_.alpha * z;
    log_normal_cdf_each(tail);
    out = log_2 - log_sqrt_2pi - std::log(omega) - 0.5 * z.square() + tail;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double a = shape_.alpha, omega = sigma_ / shape_.scale, z = at(datum, eta);
    double f[5];
    log_normal_cdf_derivatives(a * z, f);
    const double square = omega * omega, b = a / omega;
    out[0] = log_density(datum, &eta);
    out[1] = z / omega - b * f[1];
    out[2] = b * b * f[2] - 1.0 / square;
    out[3] = -b * b * b * f[3];
    out[4] = b * b * b * b * f[4];
  }
  // The zeros of Phi nearest to the real line are at +-2.816i around alpha z = 1.9.
  Smoothness smoothness() const override { return {most_width(), 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    return {most_width(), 0.0, datum.y + sigma_ * (shape_.shift / shape_.scale)};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }

  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override { return sigma_ * sigma_; }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return predictive_tails(datum, *eta, 0.0)->lower;
  }
  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  // With a normal variable added the response stays skew normal.
  std::optional<double> predictive_log_density(const Datum& datum, double mean, double variance) const override {
    const Sum sum(*this, variance);
    const double z = sum.at(datum.y - mean);
    return log_2 - log_sqrt_2pi - std::log(sum.omega) - 0.5 * z * z + log_normal_cdf(sum.alpha == 0.0 ? 0.0 : sum.alpha * z);
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const Sum sum(*this, variance);
    const double z = sum.at(datum.y - mean);
    const Tails tails = sum.alpha < 0.0 ? longer_above(-z, -sum.alpha) : longer_above(z, sum.alpha);
    return sum.alpha < 0.0 ? Tails{tails.upper, tails.lower} : tails;
  }
  Truncation truncation() const override { return Truncation::possible; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    return interval_of_location(*this, row, eta, out);
  }

  void compose(const Datum& datum, Composition& sum) const override {
    const double omega = sigma_ / shape_.scale;
    sum.constant = log_2 - log_sqrt_2pi - std::log(omega);
    sum.quadratic = -0.5 / (omega * omega);
    sum.centre = datum.y + omega * shape_.shift;
    sum.add(0, 1.0, -shape_.alpha / omega, shape_.alpha * (datum.y / omega + shape_.shift));
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    if (!alpha_parameter_.in_table()) return;
    const double omega = sigma_ / shape_.scale, d_shift = this->d_shift(), d_log = -d_log_scale(), y = datum.y / omega;
    gradient[alpha_parameter_.position()] +=
        -adjoint.constant * d_log + adjoint.quadratic * d_log / (omega * omega) +
        adjoint.centre * omega * (d_log * shape_.shift + d_shift) +
        adjoint.coefficient.front() * (shape_.alpha * d_log - 1.0) / omega +
        adjoint.shift.front() * (y + shape_.shift + shape_.alpha * (d_shift - y * d_log));
  }

  // z = x scale / sigma + shift of a residual x
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double z = at(datum, *eta), off = z - shape_.shift;
    double f[5];
    log_normal_cdf_derivatives(shape_.alpha * z, f);
    const double in_z = shape_.alpha * f[1] - z;
    if (sigma_parameter_.in_table())
      gradient[sigma_parameter_.position()] -= weight * (1.0 + in_z * off) / sigma_;
    if (!alpha_parameter_.in_table()) return;
    gradient[alpha_parameter_.position()] +=
        weight * (d_log_scale() + in_z * (off * d_log_scale() + d_shift()) + z * f[1]);
  }
  bool has_hyper() const override { return sigma_parameter_.in_table() || alpha_parameter_.in_table(); }

 private:
  static constexpr double log_2 = 0.69314718055994530942;

  /// This noise and that of eta together.
  struct Sum {
    Sum(const SkewNormal& of, double variance) {
      const double own = of.sigma_ / of.shape_.scale, rest = own / std::hypot(1.0, of.shape_.alpha);
      shift = own * of.shape_.shift;
      omega = std::hypot(own, std::sqrt(variance));
      alpha = variance > 0.0 ? own * of.shape_.delta / std::hypot(rest, std::sqrt(variance)) : of.shape_.alpha;
    }
    double at(double residual) const { return (residual + shift) / omega; }
    double omega, alpha, shift;
  };
  /// P(Z <= z) and P(Z > z), alpha >= 0: 2 phi(z) Phi(alpha z) is the density of X given that Y < alpha X.
  static Tails longer_above(double z, double alpha) {
    const double wedge = 2.0 * normal_wedge(std::fabs(z), alpha);
    if (z < 0.0) return {wedge, 1.0 - wedge};
    const double upper = 2.0 * normal_cdf(-z) - wedge;
    return {1.0 - upper, upper};
  }
  // In alpha.
  double d_shift() const { return SkewShape::sqrt_2_by_pi * shape_.slope(); }
  double d_log_scale() const { return -shape_.shift * d_shift() / (shape_.scale * shape_.scale); }
  double at(const Datum& datum, double eta) const {
    return (datum.y - eta) * (shape_.scale / sigma_) + shape_.shift;
  }
  double most_width() const {
    const double a = std::fabs(shape_.alpha);
    return a > 0.0 ? 2.816 * sigma_ / (shape_.scale * a) : infinity;
  }

  PositiveParameter sigma_parameter_;
  RealParameter alpha_parameter_;
  double sigma_ = 1.0;
  SkewShape shape_{0.0};
};

}  // namespace galvi
