// A likelihood averaged over the variance that the inducing points do not explain: generalised FITC.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// log int p(y | eta) N(eta | f, spread) d eta as a function of f, with the datum's `spread`. For log-concave
/// likelihoods with K = 1.
class Averaged final : public Likelihood {
 public:
  explicit Averaged(std::unique_ptr<Likelihood> likelihood) : likelihood_(std::move(likelihood)) {}

  void update(const ConstVectorRef& hyper) override { likelihood_->update(hyper); }
  double log_density(const Datum& datum, const double* f) const override;
  void derivatives(const Datum& datum, double f, double out[5]) const override;
  void add_gradient(const Datum& datum, const double* f, double weight, VectorRef gradient) const override;

  Index latents() const override { return likelihood_->latents(); }
  Smoothness smoothness() const override { return likelihood_->smoothness(); }
  bool log_concave() const override { return likelihood_->log_concave(); }
  bool has_hyper() const override { return likelihood_->has_hyper(); }
  double starting_eta(const Datum& datum) const override { return likelihood_->starting_eta(datum); }
  double conditional_mean(double size, const double* eta) const override {
    return likelihood_->conditional_mean(size, eta);
  }
  double conditional_variance(double size, const double* eta) const override {
    return likelihood_->conditional_variance(size, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return likelihood_->conditional_cdf(datum, eta);
  }
  bool discrete() const override { return likelihood_->discrete(); }
  Index classes() const override { return likelihood_->classes(); }
  Support support(double size) const override { return likelihood_->support(size); }

 private:
  std::unique_ptr<Likelihood> likelihood_;
};

}  // namespace galvi
