// Counts that are not zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "likelihood/distributional.h"
#include "likelihood/interval.h"

namespace galvi {

/// -log(1 - exp(-L)), L(eta) = -log p(0 | eta) of a base with K = 1 whose L is about exp(eta) times the number
/// of trials where eta is far below 0: what is added to log p of a count that is known to be positive. By itself
/// it is not a log density.
class ZeroTruncation final : public Likelihood {
 public:
  explicit ZeroTruncation(std::shared_ptr<const Likelihood> base) : base_(std::move(base)) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return first_term_suffices(datum, *eta) ? first_term(datum, *eta)
                                            : -log_complement(base_->log_density({0.0, datum.size}, eta));
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    std::fill(out, out + 5, 0.0);
    if (first_term_suffices(datum, eta)) {
      out[0] = first_term(datum, eta);
      out[1] = -1.0;
      return;
    }
    double zero[5];
    base_->derivatives({0.0, datum.size}, eta, zero);
    if (-zero[0] > nothing_left) return;
    log_complement_derivatives(zero, out);
    for (int k = 0; k < 5; ++k) out[k] = -out[k];
  }
  // Singular where L = 2 pi i k, k = 1, 2, .., at a distance of pi / 2 and more from the real line, and where the
  // base is. Beyond k = 7 exp(-L) is negligible.
  Smoothness smoothness() const override { return {1.57, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    const double first = 1.84 - std::log(datum.size), last = 3.79 - std::log(datum.size);
    const Smoothness own = base_->smoothness(datum);
    const double bend = std::isfinite(own.width) ? own.centre : last;
    const double low = std::min(bend, first), high = std::min(std::max(bend, first), last);
    return {smoothness().width, 0.0, 0.5 * (low + high), 0.5 * (high - low)};
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Datum none{0.0, datum.size};
    const double L = -base_->log_density(none, eta);
    if (!first_term_suffices(datum, *eta) && L <= nothing_left)
      base_->add_gradient(none, eta, weight / std::expm1(L), gradient);
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
  static double first_term(const Datum& datum, double eta) { return -eta - std::log(datum.size); }
  // Far to the left of where the base bends, L is size exp(eta), and so small that log(1 - exp(-L)) is log L.
  bool first_term_suffices(const Datum& datum, double eta) const {
    constexpr double far_left = -30.0;
    if (eta > far_left) return false;
    const Smoothness own = base_->smoothness(datum);
    const double bend = std::isfinite(own.width) ? std::min(own.centre, 0.0) : 0.0;
    return eta < far_left + bend - std::max(0.0, std::log(datum.size));
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

  // Where 1 - exp(-L) underflows, y is 1.
  double conditional_mean(const Datum& row, const double* eta) const override {
    const double p = positive(row.size, *eta);
    return p > 0.0 ? base_->conditional_mean(row, eta) / p : 1.0;
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    const double p = positive(row.size, *eta), mean = base_->conditional_mean(row, eta);
    if (p == 0.0) return 0.0;
    return base_->conditional_variance(row, eta) / p - zero(row.size, *eta) * (mean / p) * (mean / p);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 1.0) return 0.0;
    const double p = positive(datum.size, *eta);
    return p > 0.0 ? 1.0 - (1.0 - base_->conditional_cdf(datum, eta)) / p : 1.0;
  }
  bool discrete() const override { return true; }
  Support support(const Datum& row) const override { return {1.0, base_->support(row).high}; }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    base_->add_gradient(datum, eta, weight, gradient);
    truncation_.add_gradient(datum, eta, weight, gradient);
  }
  bool has_hyper() const override { return base_->has_hyper(); }

 private:
  double zero(double size, double eta) const { return std::exp(base_->log_density({0.0, size}, &eta)); }
  double positive(double size, double eta) const {
    return std::exp(-truncation_.log_density({1.0, size}, &eta));
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
