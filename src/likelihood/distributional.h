// Responses with a second linear predictor, for another parameter of their distribution.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "likelihood/likelihood.h"
#include "likelihood/plane_forms.h"

namespace galvi {

/// log p of one datum as a sum of functions of one latent value each: log densities of these data under these
/// likelihoods (K = 1); null where there are fewer parts.
struct Split {
  struct Part {
    const Likelihood* likelihood = nullptr;
    Datum datum{0.0, 1.0};
    Index latent = 0;
  };
  std::array<Part, 3> parts;
};

/// E log p of one datum as the mean over eta_outer of a mean over the other latent value, which is a function
/// of eta_outer of this smoothness.
struct Nesting {
  Index outer;
  Smoothness smoothness;
  Split::Part beside{};  // a term of the other latent value alone, not part of that mean
  /// If that mean is this times the mean of log sigmoid(eta_inner + s(eta_outer)), s(x) >= 0; else 0.
  double sigmoid_weight = 0.0;
};

/// Y is 0 with probability 1 / (1 + exp(-eta_2)). Otherwise it follows this likelihood of eta_1 (K = 1) or,
/// if `positive`, this likelihood given that it is not 0.
struct ZeroMixture {
  const Likelihood* base;
  bool positive;
};

class SecondParameter;

/// exp(eta_2) as a parameter, kept a positive finite number at every node of quadrature.
inline double positive_exp(double second) { return std::exp(std::min(std::max(second, -700.0), 700.0)); }

/// A likelihood of eta = (eta_1, eta_2).
class Distributional : public Likelihood {
 public:
  Index latents() const final { return 2; }
  const Distributional* distributional() const final { return this; }

  // For expectations that have no closed form.
  /// Whether this datum has one.
  virtual bool row_has_closed_form(const Datum&) const { return false; }
  virtual std::optional<Split> split(const Datum&) const { return std::nullopt; }
  virtual std::optional<Shares> shares(const Datum&) const { return std::nullopt; }
  virtual std::optional<StudentScale> student_scale(const Datum&) const { return std::nullopt; }
  virtual std::optional<MeanOverSize> mean_over_size(const Datum&) const { return std::nullopt; }
  /// For a datum that has none of these forms.   mean, variance: of both latents
  virtual Nesting nesting(const Datum&, const double* /*mean*/, const double* /*variance*/) const {
    refuse();
  }
  /// Its log p given eta_outer, K = 1, with the current hyperparameters.
  virtual std::unique_ptr<Likelihood> inner(const Datum&, double /*outer*/) const { refuse(); }
  /// s and its derivatives, s^(k), k = 0..4, where the nesting has a sigmoid_weight; such a datum has no
  /// inner().
  virtual void shift(const Datum&, double /*outer*/, double /*out*/[5]) const { refuse(); }
  /// gradient[h] += weight d s / d hyper_h
  virtual void add_shift_gradient(const Datum&, double /*outer*/, double /*weight*/, VectorRef) const {
    refuse();
  }

  // For inference.
  /// Either latent value may account for a response, so that a change of one is compensated by the other.
  bool compete() const override { return false; }
  /// Approximately the eta_2 that fits this datum best if eta_1 ~ N(mean, variance); not finite if there is
  /// none.
  virtual double second_of(const Datum& datum, double mean, double variance) const = 0;
  /// Approximately the likelihood of eta_1 for a known eta_2; K = 1.
  virtual std::shared_ptr<const Likelihood> first_given(double second) const = 0;

  // For predictions.
  /// One of the following.
  virtual std::optional<ZeroMixture> zero_mixture() const { return std::nullopt; }
  virtual const SecondParameter* second_parameter() const { return nullptr; }

  // Functions of one latent value.
  void derivatives(const Datum&, double, double[5]) const final { refuse(); }
  Smoothness smoothness() const final { refuse(); }
  double starting_eta(const Datum&) const final { refuse(); }

 protected:
  [[noreturn]] static void refuse() {
    throw std::logic_error("a likelihood with two linear predictors was evaluated at the value of one");
  }
};

/// eta_2 is a parameter of the distribution: given eta_2, it is a likelihood of eta_1 alone.
class SecondParameter : public Distributional {
 public:
  const SecondParameter* second_parameter() const final { return this; }
  /// That likelihood, K = 1.
  virtual std::unique_ptr<Likelihood> given(double second) const = 0;
  /// How Var[y | eta] depends on eta_2 = s: linearly in exp(2 s), in exp(s), in exp(-s) or in 1 / (1 +
  /// exp(s)). no_mean: E[y | eta] depends on eta_2 too, and grows so fast that it has no mean under a
  /// Gaussian.
  enum class NoiseForm { square, direct, inverse, share, no_mean };
  virtual NoiseForm noise_form() const = 0;
  /// How near to the real line P(Y <= y | eta_2) and p(y | eta_2) have singularities, or are large, under
  /// eta_1 ~ N(mean, .).
  virtual double width(double /*mean*/) const { return 0.75; }

  std::unique_ptr<Likelihood> inner(const Datum&, double outer) const override { return given(outer); }
  std::shared_ptr<const Likelihood> first_given(double second) const override { return given(second); }

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
};

}  // namespace galvi
