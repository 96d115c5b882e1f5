// Counts that are not zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "likelihood/distributional.h"
#include "likelihood/interval.h"

namespace galvi {

/// -log(1 - exp(-L)), L(eta) = -log p(0 | eta) of a base with K = 1 whose L is a multiple of exp(eta) where eta is far
/// below 0: what is added to log p of a count that is known to be positive. By itself it is not a log density.
class ZeroTruncation final : public Likelihood {
 public:
  explicit ZeroTruncation(std::shared_ptr<const Likelihood> base) : base_(std::move(base)) {}

  /// eta, or where that is further left the place from which on log L is a line and Y | Y > 0 has its limit.
  double where_it_bends(const Datum& datum, double eta) const { return std::max(eta, far_left(datum)); }

  double log_density(const Datum& datum, const double* eta) const override {
    const double at = where_it_bends(datum, *eta);
    return -log_complement(base_->log_density(none(datum), &at)) + (at - *eta);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    std::fill(out, out + 5, 0.0);
    if (eta < far_left(datum)) {
      out[0] = log_density(datum, &eta);
      out[1] = -1.0;
      return;
    }
    double zero[5];
    base_->derivatives(none(datum), eta, zero);
    if (-zero[0] > nothing_left) return;
    log_complement_derivatives(zero, out);
    for (int k = 0; k < 5; ++k) out[k] = -out[k];
  }
  // Singular where L = 2 pi i k, k = 1, 2, .., at a distance of pi / 2 and more from the real line, and where the
  // base is. Beyond k = 7 exp(-L) is negligible.
  Smoothness smoothness() const override { return {1.57, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    const double left = far_left(datum),
                 log_multiple = std::log(-base_->log_density(none(datum), &left)) - left;
    const double first = 1.84 - log_multiple, last = 3.79 - log_multiple;
    const Smoothness own = base_->smoothness(none(datum));
    const double bend = std::isfinite(own.width) ? own.centre : last;
    const double low = std::min(bend, first), high = std::min(std::max(bend, first), last);
    return {smoothness().width, 0.0, 0.5 * (low + high), 0.5 * (high - low)};
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double at = where_it_bends(datum, *eta), L = -base_->log_density(none(datum), &at);
    if (L <= nothing_left) base_->add_gradient(none(datum), &at, weight / std::expm1(L), gradient);
  }
  bool has_hyper() const override { return base_->has_hyper(); }
  bool log_concave() const override { return false; }

  double starting_eta(const Datum&) const override { return 0.0; }
  double conditional_mean(const Datum&, const double*) const override { return 0.0; }
  double conditional_variance(const Datum&, const double*) const override { return 0.0; }
  double conditional_cdf(const Datum&, const double*) const override { return 1.0; }
  bool discrete() const override { return true; }
  Support support(const Datum&) const override { return {0.0, infinity}; }

 private:
  static constexpr double nothing_left = 700.0;
  static Datum none(const Datum& datum) { return {0.0, datum.size}; }
  // Where L is so small that log(1 - exp(-L)) is log L, left of where the base bends.
  double far_left(const Datum& datum) const {
    constexpr double of_digits = -30.0, lowest = -700.0;
    const Smoothness own = base_->smoothness(none(datum));
    const double bend = std::isfinite(own.width) ? std::min(own.centre, 0.0) : 0.0;
    return std::max(of_digits + bend - std::max(0.0, std::log(datum.size)), lowest);
  }
  std::shared_ptr<const Likelihood> base_;
};

/// p(y | eta) / (1 - exp(-L)) of counts y = 1, 2, .. under that base.
class ZeroTruncated final : public Likelihood {
 public:
  /// `natural`: eta is the natural parameter of the base's family, and that of the truncated one.
  explicit ZeroTruncated(std::shared_ptr<const Likelihood> base, bool natural = false)
      : base_(std::move(base)), truncation_(base_), natural_(natural) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return base_->log_density(datum, eta) + truncation_.log_density(datum, eta);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    double more[5];
    base_->derivatives(datum, eta, out);
    truncation_.derivatives(datum, eta, more);
    for (int k = 0; k < 5; ++k) out[k] += more[k];
    if (log_concave()) out[2] = std::min(out[2], 0.0);  // rounding may be all that is left
  }
  Smoothness smoothness() const override { return {truncation_.smoothness().width, 2.0}; }
  /// A negative binomial's log p is convex somewhere where its size is below 1.
  bool log_concave() const override { return natural_; }
  double starting_eta(const Datum& datum) const override { return base_->starting_eta(datum); }

  double conditional_mean(const Datum& row, const double* eta) const override {
    const double at = truncation_.where_it_bends(row, *eta);
    return base_->conditional_mean(row, &at) / positive(row, at);
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    const double at = truncation_.where_it_bends(row, *eta), p = positive(row, at);
    const double mean = base_->conditional_mean(row, &at);
    return base_->conditional_variance(row, &at) / p - (1.0 - p) * (mean / p) * (mean / p);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 1.0) return 0.0;
    const double at = truncation_.where_it_bends(datum, *eta);
    return 1.0 - (1.0 - base_->conditional_cdf(datum, &at)) / positive(datum, at);
  }
  bool discrete() const override { return true; }
  Support support(const Datum& row) const override { return {1.0, base_->support(row).high}; }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    base_->add_gradient(datum, eta, weight, gradient);
    truncation_.add_gradient(datum, eta, weight, gradient);
  }
  bool has_hyper() const override { return base_->has_hyper(); }

 private:
  double positive(const Datum& row, double eta) const {
    return std::exp(-truncation_.log_density(row, &eta));
  }

  std::shared_ptr<const Likelihood> base_;
  ZeroTruncation truncation_;
  bool natural_;
};

/// The same, Of = ZeroTruncation or ZeroTruncated, of a base whose last parameter has a linear predictor.
template <class Of>
class ZeroTruncatedGiven final : public PredictedParameter {
 public:
  explicit ZeroTruncatedGiven(std::shared_ptr<const PredictedParameter> base) : base_(std::move(base)) {}
  Index latents() const override { return base_->latents(); }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<Of>(std::shared_ptr<const Likelihood>(base_->given(last)));
  }
  // Singular where L = 2 pi i k. The angle of a negative binomial's L grows no faster than the imaginary part of its
  // log size.
  Nesting nesting(const Datum&, const double*, const double*) const override {
    return {last(), {1.57, 0.0, 0.0, infinity}};
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return base_->last_of(datum, mean, variance);
  }
  NoiseForm noise_form() const override { return NoiseForm::general; }
  double width(const double* mean) const override { return base_->width(mean); }
  bool log_concave() const override { return false; }
  bool has_hyper() const override { return base_->has_hyper(); }

 private:
  std::shared_ptr<const PredictedParameter> base_;
};

}  // namespace galvi
