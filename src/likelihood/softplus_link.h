// Responses with mean log(1 + exp(eta)).
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "function/elementwise.h"
#include "likelihood/distributional.h"
#include "likelihood/gamma.h"
#include "likelihood/gamma_log_shape.h"
#include "likelihood/negbinomial.h"
#include "likelihood/negbinomial_log_size.h"
#include "likelihood/poisson.h"

namespace galvi {

/// g(eta) = log log(1 + exp(eta)), with g' = p = sigma / log(1 + exp(eta)) and, with c = 1 - sigma and d = c - p,
/// p' = p d. Its singularities are at +-i pi: the logarithm inside has no zero between them.
struct LogSoftplus {
  static constexpr double line_end = -37.0;  // left of it g is eta, to rounding

  static double value(double eta) { return eta < line_end ? eta : std::log(softplus(eta)); }
  static void derivatives(double eta, double out[5]) {
    out[0] = value(eta);
    out[1] = 1.0;
    out[2] = out[3] = out[4] = 0.0;
    if (eta < line_end) return;
    const double e = std::exp(-std::fabs(eta)), near = 1.0 / (1.0 + e), far = e * near;
    const double sigma = eta > 0.0 ? near : far, c = eta > 0.0 ? far : near, bend = near * far;
    const double p = sigma / softplus(eta), d = c - p, d1 = -bend - p * d;
    const double d2 = -bend * (c - sigma) - p * (d * d + d1);
    out[1] = p;
    out[2] = p * d;
    out[3] = p * (d * d + d1);
    out[4] = p * (d * d * d + 3.0 * d * d1 + d2);
  }
  /// The eta of this g.
  static double inverse(double g) {
    const double mean = std::exp(g);
    return mean > 1.0 ? mean + std::log1p(-std::exp(-mean)) : g + std::log(std::expm1(mean) / mean);
  }
  /// x <- g(x)
  static void each(ArrayRef x) {
    RowArray l = x;
    log1p_exp_each(l);
    l += x.max(0.0);
    log_each(l);
    x = (x < line_end).select(x, l);
  }

 private:
  static double softplus(double eta) { return std::max(eta, 0.0) + std::log1p(std::exp(-std::fabs(eta))); }
};

/// A likelihood of the logarithm of the mean, as a likelihood of eta.
template <class Base>
class SoftplusLink : public Likelihood {
 public:
  template <class... Arguments>
  explicit SoftplusLink(Arguments&&... arguments) : base_(std::forward<Arguments>(arguments)...) {}

  double log_density(const Datum& datum, const double* eta) const override {
    const double g = LogSoftplus::value(*eta);
    return base_.log_density(datum, &g);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    if (eta < LogSoftplus::line_end) return base_.derivatives(datum, eta, out);
    double g[5], f[5];
    LogSoftplus::derivatives(eta, g);
    base_.derivatives(datum, g[0], f);
    const double square = g[1] * g[1];
    out[0] = f[0];
    out[1] = f[1] * g[1];
    out[2] = f[2] * square + f[1] * g[2];
    out[3] = f[3] * square * g[1] + 3.0 * f[2] * g[1] * g[2] + f[1] * g[3];
    out[4] = f[4] * square * square + 6.0 * f[3] * square * g[2] + f[2] * (3.0 * g[2] * g[2] + 4.0 * g[1] * g[3]) +
             f[1] * g[4];
  }
  PreparedRows prepare(Data data) const override { return base_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    Vector g = eta.col(0);
    LogSoftplus::each(g.array());
    base_.log_densities(rows, g, out);
  }
  double starting_eta(const Datum& datum) const override { return LogSoftplus::inverse(base_.starting_eta(datum)); }
  std::optional<double> mode(const Datum& datum) const override {
    const auto g = base_.mode(datum);
    if (g) return LogSoftplus::inverse(*g);
    return std::nullopt;
  }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return base_.divides_dispersion(); }

  double conditional_mean(const Datum& row, const double* eta) const override {
    const double g = LogSoftplus::value(*eta);
    return base_.conditional_mean(row, &g);
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    const double g = LogSoftplus::value(*eta);
    return base_.conditional_variance(row, &g);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double g = LogSoftplus::value(*eta);
    return base_.conditional_cdf(datum, &g);
  }
  bool discrete() const override { return base_.discrete(); }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& row) const override { return base_.support(row); }

  bool has_hyper() const override { return base_.has_hyper(); }
  void update(const ConstVectorRef& hyper) override { base_.update(hyper); }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double g = LogSoftplus::value(*eta);
    base_.add_gradient(datum, &g, weight, gradient);
  }

 protected:
  static constexpr double width = 2.6;
  Base base_;
};

/// log p(y | eta) = y g(eta) - exp(g(eta)) - log y!
class PoissonSoftplus final : public SoftplusLink<Poisson> {
 public:
  Smoothness smoothness() const override { return {width, 0.0}; }
  bool log_concave() const override { return true; }
  // -d P(Y <= y | eta) / d eta = (y + 1) p(y + 1 | eta) g'(eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    const double next = std::floor(datum.y) + 1.0;
    double l[5], g[5];
    derivatives({next, 1.0}, t, l);
    LogSoftplus::derivatives(t, g);
    const double slope = g[2] / g[1];
    out[0] = std::log(next) + l[0] + std::log(g[1]);
    out[1] = l[1] + slope;
    out[2] = l[2] + g[3] / g[1] - slope * slope;
  }
};

template <class Base>
class NegativeBinomialSoftplus final : public SoftplusLink<Base> {
 public:
  using SoftplusLink<Base>::SoftplusLink;
  Smoothness smoothness() const override { return {this->width, 0.0}; }
  // Also log(mean + size) is singular at a distance of pi, where 1 + exp(eta) = exp(-size).
  Smoothness smoothness(const Datum& datum) const override {
    const double size = std::exp(this->base_.smoothness(datum).centre), left = std::log(-std::expm1(-size));
    return {this->width, 0.0, 0.5 * left, -0.5 * left};
  }
};

template <class Base>
class GammaSoftplus final : public SoftplusLink<Base> {
 public:
  using SoftplusLink<Base>::SoftplusLink;
  Smoothness smoothness() const override { return {this->width, 1.0}; }
};

/// The same with a linear predictor of the logarithm of the parameter.   Predicted: with the log link
template <class Predicted>
class SoftplusPredicted : public PredictedParameter {
 public:
  PreparedRows prepare(Data data) const override { return of_log_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    Matrix g = eta;
    LogSoftplus::each(g.col(0).array());
    of_log_.log_densities(rows, g, out);
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    double g[5];
    LogSoftplus::derivatives(mean, g);
    return of_log_.last_of(datum, g[0], g[1] * g[1] * variance);
  }
  NoiseForm noise_form() const override { return of_log_.noise_form(); }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return of_log_.divides_dispersion(); }

 protected:
  Predicted of_log_;
};

/// The mean over eta_1 is a function of eta_2 that grows as a line, with singularities at a distance of pi where the
/// size is a negative integer or the mean's negative, wherever the mean lies.
class NegativeBinomialSoftplusLogSize final : public SoftplusPredicted<NegativeBinomialLogSize> {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<NegativeBinomialSoftplus<NegativeBinomialKnownSize>>(last);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override {
    return {1, {2.6, 0.0, 0.0, infinity}};
  }
};

/// log p is linear in the shape but for what does not depend on eta_1.
class GammaSoftplusLogShape final : public SoftplusPredicted<GammaLogShape> {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<GammaSoftplus<GammaKnownShape>>(positive_exp(last));
  }
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    return of_log_.nesting(datum, mean, variance);
  }
};

}  // namespace galvi
