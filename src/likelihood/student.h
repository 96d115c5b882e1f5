// A response with heavy tails, identity link, with scale and degrees of freedom that may be learned.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/interval.h"
#include "likelihood/identity_link.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// y = eta + scale T, T of Student's t with df degrees of freedom: with x = eta - y and w = scale sqrt(df)
/// log p(y | eta) = constant - (df + 1) / 2 log(1 + x^2 / w^2). A row with noise of its own has its root as scale.
class StudentResponse : public IdentityLink {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    const Scale own = scale(datum);
    return own.constant - 0.5 * (df_ + 1.0) * log_spread(*eta - datum.y, own.width);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    if (rows.data.known.rows() > 0) return Likelihood::log_densities(rows, eta, out);
    RowArray spread = ((eta.col(0) - rows.data.y).array() / scale_.width).square();
    log1p_each(spread);
    out = scale_.constant - 0.5 * (df_ + 1.0) * spread;
  }
  // log(1 + x^2 / w^2) is 2 Re log(x + i w) but for a constant; its k-th derivative is
  // 2 (-1)^(k - 1) (k - 1)! Re z^k, z = 1 / (x + i w).
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Scale own = this->scale(datum);
    const double x = eta - datum.y, scale = 1.0 / (x * x + own.width * own.width), power = df_ + 1.0;
    const double re = scale * x, im = -scale * own.width;
    const double re2 = (re - im) * (re + im), im2 = 2.0 * re * im;
    out[0] = own.constant - 0.5 * power * log_spread(x, own.width);
    out[1] = -power * re;
    out[2] = power * re2;
    out[3] = -2.0 * power * (re2 * re - im2 * im);
    out[4] = 6.0 * power * (re2 - im2) * (re2 + im2);
  }
  Smoothness smoothness() const override { return {scale_.width, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override { return {scale(datum).width, 0.0, datum.y}; }
  bool super_gaussian() const override { return true; }
  bool log_concave() const override { return false; }
  Truncation truncation() const override { return Truncation::possible; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    const double own = scale(row).scale;
    const auto tails = [&](double y) {
      const double t = (y - eta) / own;
      return Tails{student_cdf(t, df_), student_cdf(-t, df_)};
    };
    const auto flux = [&](double y, double g[4]) {
      double l[5];
      derivatives(row.at_any(y), eta, l);
      std::copy(l, l + 4, g);
    };
    return interval_by_flux(row.entry, row.exit, support(row), tails, flux, out);
  }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  std::optional<double> mode(const Datum& datum) const override { return starting_eta(datum); }

  // With df <= 1 there is no mean: eta is the location.
  double conditional_variance(const Datum& row, const double* /*eta*/) const override {
    const double own = scale(row).scale;
    return df_ > 2.0 ? own * own * df_ / (df_ - 2.0) : infinity;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return student_cdf((datum.y - *eta) / scale(datum).scale, df_);
  }

  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  // tau is Gamma(df / 2, rate df / 2), which makes Student's t of normals.
  std::optional<NormalMixture> normal_mixture(const Datum& row) const override {
    const double own = scale(row).scale;
    return NormalMixture{0.5 * df_, own * own};
  }
  /// d log p / d df, x = eta - y, but for what does not depend on x
  double slope_in_df(const Datum& row, double x) const {
    const double width = scale(row).width;
    return 0.5 * ((df_ + 1.0) / df_ * share_of_spread(x, width) - log_spread(x, width));
  }
  /// log p(y | eta = y) for scale 1, and its derivative in df
  static double constant_of(double df) { return log_gamma_ratio(0.5 * df, 0.5) - 0.5 * std::log(pi * df); }
  static double constant_slope_in_df(double df) {
    return 0.5 * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df);
  }

 protected:
  struct Scale {
    double scale, width, constant;
  };
  void set(double df, double scale) {
    df_ = df;
    scale_ = of_scale(scale);
  }
  Scale scale(const Datum& row) const { return row.noise > 0.0 ? of_scale(std::sqrt(row.noise)) : scale_; }
  // x^2 / (w^2 + x^2)
  static double share_of_spread(double x, double width) {
    const double h = std::hypot(x, width);
    return (x / h) * (x / h);
  }
  static double log_spread(double x, double width) {
    const double z = std::fabs(x) / width;
    return z < 1e100 ? std::log1p(z * z) : 2.0 * std::log(z);
  }
  double df_ = 1.0;
  Scale scale_{1.0, 1.0, 0.0};

 private:
  Scale of_scale(double scale) const { return {scale, scale * std::sqrt(df_), constant_of(df_) - std::log(scale)}; }
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
    gradient[df_parameter_.position()] += weight * (constant_slope_ + slope_in_df(datum, x));
    if (datum.noise > 0.0) return;
    const double share = share_of_spread(x, scale_.width);
    gradient[scale_parameter_.position()] += weight * ((df_ + 1.0) * share - 1.0) / scale_.scale;
  }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter df_parameter_, scale_parameter_;
  double constant_slope_ = 0.0;
};

}  // namespace galvi
