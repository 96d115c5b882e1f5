// A likelihood averaged over the variance that the inducing points do not explain: generalised FITC.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// log int p(y | eta) N(eta | f, c) d eta as a function of f. Every row is a part of its own (Datum::part), with its c.
/// For log-concave likelihoods with K = 1.
class Averaged final : public Likelihood {
 public:
  explicit Averaged(std::unique_ptr<Likelihood> likelihood) : likelihood_(std::move(likelihood)) {}

  Averaged* averaged() override { return this; }
  /// c of all rows; zero until they are known.
  const Vector& spread() const { return spread_; }
  void set_spread(Vector spread) { spread_ = std::move(spread); }
  /// d/dc of l + variance l'' / 2 at f and, if f moves by `along` times the change of l', through f.
  double slope_in_spread(const Datum& datum, double f, double variance, double along) const;

  void update(const ConstVectorRef& hyper) override { likelihood_->update(hyper); }
  double log_density(const Datum& datum, const double* f) const override;
  void derivatives(const Datum& datum, double f, double out[5]) const override;
  void add_gradient(const Datum& datum, const double* f, double weight, VectorRef gradient) const override;

  Index latents() const override { return likelihood_->latents(); }
  Smoothness smoothness() const override { return likelihood_->smoothness(); }
  bool log_concave() const override { return likelihood_->log_concave(); }
  bool has_hyper() const override { return likelihood_->has_hyper(); }
  double starting_eta(const Datum& datum) const override { return likelihood_->starting_eta(datum); }
  double conditional_mean(const Datum& row, const double* eta) const override {
    return likelihood_->conditional_mean(row, eta);
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return likelihood_->conditional_variance(row, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return likelihood_->conditional_cdf(datum, eta);
  }
  bool discrete() const override { return likelihood_->discrete(); }
  Index classes() const override { return likelihood_->classes(); }
  Support support(const Datum& row) const override { return likelihood_->support(row); }

 private:
  double spread_of(const Datum& datum) const { return spread_.size() > 0 ? spread_[datum.part] : 0.0; }

  std::unique_ptr<Likelihood> likelihood_;
  Vector spread_;
};

}  // namespace galvi
