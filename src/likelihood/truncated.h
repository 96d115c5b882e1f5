// Responses that are observed only where they lie in an interval.
#pragma once

#include <memory>
#include <utility>

#include "likelihood/likelihood.h"

namespace galvi {

/// p(y | eta) / P(entry < Y <= exit | eta), entry < y <= exit, of a base with K = 1; rows without ends have p(y | eta).
/// A new response of a row is one in its interval.
///
/// Of a base without interval() the derivatives of log P are cumulants of those of log p(Y | eta) over the responses in
/// the interval: with a, b, c, d the derivatives and < > their mean
///   <a>,  <b> + var a,  <c> + 3 cov(a, b) + k(a, a, a),  <d> + 4 cov(a, c) + 3 var b + 6 k(a, a, b) + k(a, a, a, a),
/// and d log P / d hyper = <d log p / d hyper>. These means are sums over whole numbers, in the interval or outside of
/// it, whichever are fewer; or integrals, with one end over its less probable side.
class Truncated final : public Likelihood {
 public:
  explicit Truncated(std::unique_ptr<Likelihood> base);

  void update(const ConstVectorRef& hyper) override { base_->update(hyper); }
  double log_density(const Datum& datum, const double* eta) const override;
  void derivatives(const Datum& datum, double eta, double out[5]) const override;
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override;
  bool has_hyper() const override { return base_->has_hyper(); }

  /// The zeros of P are at least about as far from the real line as the response varies, in units of its mean's change,
  /// where an end is its mean: those of normal responses 2.6 times as far.
  Smoothness smoothness() const override;
  Smoothness smoothness(const Datum& datum) const override;
  bool log_concave() const override { return base_->truncation() == Truncation::concave; }
  bool divides_dispersion() const override { return base_->divides_dispersion(); }
  double starting_eta(const Datum& datum) const override { return base_->starting_eta(datum.at_any(datum.y)); }

  double conditional_mean(const Datum& row, const double* eta) const override { return moments(row, *eta).mean; }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return moments(row, *eta).variance;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override;
  bool discrete() const override { return base_->discrete(); }
  Support support(const Datum& row) const override;

  std::optional<double> predictive_mean(const Datum& row, double mean, double variance) const override;
  std::optional<double> predictive_mean_variance(const Datum& row, double mean, double variance) const override;
  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override;

 private:
  struct Moments {
    double mean, variance;
  };
  Moments moments(const Datum& row, double eta) const;
  /// Has the row an end inside of the base's support?
  bool cut(const Datum& row) const;
  /// d^k log P, k = 0..4, of such a row.
  void share(const Datum& row, double eta, double out[5]) const;
  double log_share(const Datum& row, double eta) const;
  /// P as a difference of distribution functions.
  double plain_share(const Datum& row, double eta) const;
  Smoothness share_smoothness(const Datum& row) const;
  template <class Function>
  double mean_over_eta(const Datum& row, double mean, double variance, Function function) const;

  std::unique_ptr<Likelihood> base_;
};

}  // namespace galvi
