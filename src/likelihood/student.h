// A response with heavy tails, identity link, with scale and degrees of freedom that may be learned.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/identity_link.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// y = eta + scale T, T of Student's t with df degrees of freedom: with x = eta - y and w = scale sqrt(df)
/// log p(y | eta) = constant - (df + 1) / 2 log(1 + x^2 / w^2).
class StudentResponse : public IdentityLink {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    return constant_ - 0.5 * (df_ + 1.0) * log_spread(*eta - datum.y);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray spread = ((eta.col(0) - rows.data.y).array() / width_).square();
    log1p_each(spread);
    out = constant_ - 0.5 * (df_ + 1.0) * spread;
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
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  // With df <= 1 there is no mean: eta is the location.
  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override {
    return df_ > 2.0 ? scale_ * scale_ * df_ / (df_ - 2.0) : infinity;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return student_cdf((datum.y - *eta) / scale_, df_);
  }

  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  // tau is Gamma(df / 2, rate df / 2), which makes Student's t of normals.
  std::optional<NormalMixture> normal_mixture() const override {
    return NormalMixture{0.5 * df_, scale_ * scale_};
  }
  /// d log p / d df, x = eta - y, but for what does not depend on x
  double slope_in_df(double x) const {
    return 0.5 * ((df_ + 1.0) / df_ * share_of_spread(x) - log_spread(x));
  }
  /// log p(y | eta = y) for scale 1, and its derivative in df
  static double constant_of(double df) { return log_gamma_ratio(0.5 * df, 0.5) - 0.5 * std::log(pi * df); }
  static double constant_slope_in_df(double df) {
    return 0.5 * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df);
  }

 protected:
  void set(double df, double scale) {
    df_ = df;
    scale_ = scale;
    width_ = scale * std::sqrt(df);
    constant_ = constant_of(df) - std::log(scale);
  }
  // x^2 / (w^2 + x^2)
  double share_of_spread(double x) const {
    const double h = std::hypot(x, width_);
    return (x / h) * (x / h);
  }
  double log_spread(double x) const {
    const double z = std::fabs(x) / width_;
    return z < 1e100 ? std::log1p(z * z) : 2.0 * std::log(z);
  }
  double df_ = 1.0, scale_ = 1.0;

 private:
  double width_ = 1.0, constant_ = 0.0;
};

class Student final : public StudentResponse {
 public:
  explicit Student(const LikelihoodSpec& spec) : df_parameter_(spec, "df"), scale_parameter_(spec, "scale") {}
  void update(const ConstVectorRef& hyper) override {
    set(df_parameter_.read(hyper), scale_parameter_.read(hyper));
    constant_slope_ = constant_slope_in_df(df_);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double x = *eta - datum.y;
    gradient[df_parameter_.position()] += weight * (constant_slope_ + slope_in_df(x));
    gradient[scale_parameter_.position()] += weight * ((df_ + 1.0) * share_of_spread(x) - 1.0) / scale_;
  }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter df_parameter_, scale_parameter_;
  double constant_slope_ = 0.0;
};

}  // namespace galvi
