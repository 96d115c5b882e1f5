// Responses with zeros of their own: a second linear predictor for their probability.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/binomial_logit.h"
#include "likelihood/distributional.h"
#include "likelihood/zero_truncated.h"
#include "numeric/special_functions.h"

namespace galvi {

/// A base with K = 1 for eta_1, and P = 1 / (1 + exp(-eta_2)), the probability of a zero of another kind.
class WithZeros : public Distributional {
 public:
  explicit WithZeros(std::unique_ptr<Likelihood> base) : base_(std::move(base)) {}
  void update(const ConstVectorRef& hyper) final { base_->update(hyper); }
  bool has_hyper() const final { return base_->has_hyper(); }
  double second_of(const Datum& datum, double, double) const final { return datum.y == 0.0 ? 0.0 : -1.0; }
  std::shared_ptr<const Likelihood> first_given(double) const final { return base_; }
  bool discrete() const final { return base_->discrete(); }
  Support support(double size) const final { return {0.0, base_->support(size).high}; }

  double conditional_mean(double size, const double* eta) const final {
    return rest_share(eta) * rest().conditional_mean(size, eta);
  }
  double conditional_variance(double size, const double* eta) const final {
    const double share = rest_share(eta), mean = rest().conditional_mean(size, eta);
    return share * (rest().conditional_variance(size, eta) + (1.0 - share) * mean * mean);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const final {
    if (datum.y < 0.0) return 0.0;
    return 1.0 - rest_share(eta) * (1.0 - rest().conditional_cdf(datum, eta));
  }

 protected:
  /// What responses come from that are no zeros of the other kind.
  virtual const Likelihood& rest() const = 0;
  const Likelihood& base() const { return *base_; }
  static double log_zero_share(const double* eta) { return log_sigmoid().value(eta[1]); }
  static double log_rest_share(const double* eta) { return log_sigmoid().value(-eta[1]); }
  static Split::Part no_zero() { return {&gate(), {0.0, 1.0}}; }
  static Split::Part a_zero() { return {&gate(), {1.0, 1.0}}; }

 private:
  static double rest_share(const double* eta) { return std::exp(log_rest_share(eta)); }
  static const Likelihood& gate() {
    static const BinomialLogit likelihood;
    return likelihood;
  }
  std::shared_ptr<Likelihood> base_;
};

/// log p(0 | eta) = log(P + (1 - P) exp(-L)) with L = -log p(0 | eta_1) of the base known is
/// f(eta_2) - f(eta_2 + L), f = log sigmoid: its second term, as a function of eta_2.
class ZeroOfEitherKind final : public Composed {
 public:
  ZeroOfEitherKind(const Likelihood& base, const Datum& zero, double first)
      : Composed(log_sigmoid()), base_(base), first_(first), L_(-base.log_density(zero, &first)) {}
  void compose(const Datum&, Composition& sum) const override {
    constexpr double nothing_left = 1e4;  // of exp(-L) beside P
    if (L_ < nothing_left) sum.parts.push_back({0, -1.0, 1.0, L_});
  }
  // L is the shift.
  void add_composition_gradient(const Datum& zero, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    if (!adjoint.shift.empty()) base_.add_gradient(zero, &first_, -adjoint.shift[0], gradient);
  }
  bool has_hyper() const override { return base_.has_hyper(); }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum&) const override { return 0.0; }
  double conditional_mean(double, const double*) const override { return 0.0; }
  double conditional_variance(double, const double*) const override { return 0.0; }
  double conditional_cdf(const Datum&, const double*) const override { return 1.0; }
  bool discrete() const override { return true; }
  Support support(double) const override { return {0.0, 0.0}; }

 private:
  const Likelihood& base_;
  double first_, L_;
};

/// Zeros of both kinds: log p(0 | eta) as above, log p(y | eta) = log(1 - P) + log p(y | eta_1) of the base.
class ZeroInflated final : public WithZeros {
 public:
  using WithZeros::WithZeros;

  double log_density(const Datum& datum, const double* eta) const override {
    const double rest = log_rest_share(eta) + base().log_density(datum, eta);
    if (datum.y > 0.0) return rest;
    const double zero = log_zero_share(eta);
    return std::max(zero, rest) + std::log1p(std::exp(-std::fabs(zero - rest)));
  }
  std::optional<Split> split(const Datum& datum) const override {
    if (datum.y == 0.0) return std::nullopt;
    return Split{{Split::Part{&base(), datum}, no_zero()}};
  }
  // The outer mean is over eta_1. Its integrand is singular where L = -eta_2 +- i pi, and log L turns no faster
  // than eta_1 does.
  Nesting nesting(const Datum&, const double* mean, const double* variance) const override {
    const double far = mean[1] - 5.0 * std::sqrt(variance[1]);
    const double reach = std::max(pi, 3.0 * std::sqrt(variance[1]));
    return {0, {std::min(1.4, 0.9 * std::atan2(reach, -far)), 1.0}, a_zero()};
  }
  std::unique_ptr<Likelihood> inner(const Datum& datum, double outer) const override {
    return std::make_unique<ZeroOfEitherKind>(base(), datum, outer);
  }
  std::optional<ZeroMixture> zero_mixture() const override { return ZeroMixture{&base(), false}; }
  bool log_concave() const override { return false; }

 protected:
  const Likelihood& rest() const override { return base(); }
};

/// Zeros of that kind alone: log p(0 | eta) = log P, log p(y | eta) = log(1 - P) + log p(y | eta_1, y > 0) of
/// the base.
class Hurdle final : public WithZeros {
 public:
  explicit Hurdle(std::unique_ptr<Likelihood> base) : WithZeros(std::move(base)), truncated_(this->base()) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return datum.y > 0.0 ? log_rest_share(eta) + rest().log_density(datum, eta) : log_zero_share(eta);
  }
  std::optional<Split> split(const Datum& datum) const override {
    if (datum.y > 0.0) return Split{{Split::Part{&rest(), datum}, no_zero()}};
    return Split{{Split::Part{}, a_zero()}};
  }
  std::optional<ZeroMixture> zero_mixture() const override { return ZeroMixture{&base(), true}; }
  bool separable() const override { return true; }
  bool log_concave() const override { return rest().log_concave(); }

 protected:
  // A continuous base has no zeros.
  const Likelihood& rest() const override {
    if (base().discrete()) return truncated_;
    return base();
  }

 private:
  ZeroTruncated truncated_;
};

}  // namespace galvi
