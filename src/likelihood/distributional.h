// Responses with a linear predictor of its own for a second parameter of their distribution.
#pragma once

#include <memory>
#include <stdexcept>

#include "likelihood/likelihood.h"

namespace galvi {

/// eta = (eta_1, eta_2): with eta_2 known, what is left is a likelihood of eta_1 alone, whose mean does not
/// depend on eta_2. Starts and predictions follow from that.
class Distributional : public Likelihood {
 public:
  Index latents() const final { return 2; }
  const Distributional* distributional() const final { return this; }

  /// The likelihood of eta_1 that is left, K = 1 and without hyperparameters of its own.
  virtual std::unique_ptr<Likelihood> given(double second) const = 0;
  /// The eta_2 that fits this datum best where eta_1 ~ N(mean, variance), roughly; not finite if there is
  /// none.
  virtual double second_of(const Datum& datum, double mean, double variance) const = 0;
  /// The eta_2 at which Var[y | eta] is its mean over eta_2 ~ N(mean, variance), whatever eta_1 is.
  virtual double second_of_variance(double mean, double variance) const = 0;

  double log_density(const Datum& datum, const double* eta) const override {
    return given(eta[1])->log_density(datum, eta);
  }
  double conditional_mean(double size, const double* eta) const override {
    return given(eta[1])->conditional_mean(size, eta);
  }
  double conditional_variance(double size, const double* eta) const override {
    return given(eta[1])->conditional_variance(size, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return given(eta[1])->conditional_cdf(datum, eta);
  }
  bool discrete() const override { return given(0.0)->discrete(); }
  Support support(double size) const override { return given(0.0)->support(size); }

  // Functions of one latent value.
  void derivatives(const Datum&, double, double[5]) const final { refuse(); }
  Smoothness smoothness() const final { refuse(); }
  double starting_eta(const Datum&) const final { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("derivatives in one latent value were asked of a likelihood with two");
  }
};

}  // namespace galvi
