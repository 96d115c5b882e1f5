// Responses with several linear predictors: eta_1, and one for each other parameter that is predicted.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "likelihood/likelihood.h"
#include "likelihood/plane_forms.h"

namespace galvi {

/// log p of one datum as a sum of functions of some latent values each: log densities of these data under these
/// likelihoods; null where there are fewer parts.
struct Split {
  struct Part {
    const Likelihood* likelihood = nullptr;
    Datum datum{0.0, 1.0};
    Index first = 0;  // of its latent values, which are neighbours
  };
  std::array<Part, 3> parts;
};

/// E log p of one datum as the mean over eta_outer of a mean over the other latent values, which is a function
/// of eta_outer of this smoothness.
struct Nesting {
  Index outer;
  Smoothness smoothness;
  // For K = 2, with one latent value eta_inner inside:
  Split::Part beside{};  // a term of eta_inner alone, not part of that mean
  /// If that mean is this times the mean of log sigmoid(eta_inner + s(eta_outer)), s(x) >= 0; else 0.
  double sigmoid_weight = 0.0;
};

/// Y is 0 with probability 1 / (1 + exp(-eta_k)), k the first latent value after those of this likelihood, which it
/// otherwise follows. With `ones` Y is then 1, and not 0, with probability 1 / (1 + exp(-eta_(k+1))).
struct ZeroMixture {
  const Likelihood* rest;
  bool truncated;  // at 0, by the sum of the other probabilities
  bool ones = false;
};

class CustomSeveral;
class PredictedParameter;

/// exp(eta_k) as a parameter, kept a positive finite number at every node of quadrature.
inline double positive_exp(double eta) { return std::exp(std::min(std::max(eta, -700.0), 700.0)); }

/// A likelihood of eta = (eta_1, .., eta_K), the linear predictors of K parameters.
class Distributional : public Likelihood {
 public:
  Index latents() const override { return 2; }
  Index last() const { return latents() - 1; }
  const Distributional* distributional() const final { return this; }

  // For expectations that have no closed form.
  /// Whether this datum has one.
  virtual bool row_has_closed_form(const Datum&) const { return false; }
  virtual std::optional<Split> split(const Datum&) const { return std::nullopt; }
  // For K = 2:
  virtual std::optional<Shares> shares(const Datum&) const { return std::nullopt; }
  virtual std::optional<StudentScale> student_scale(const Datum&) const { return std::nullopt; }
  virtual std::optional<MeanOverSize> mean_over_size(const Datum&) const { return std::nullopt; }
  virtual std::optional<MeanOverDispersion> mean_over_dispersion(const Datum&) const { return std::nullopt; }
  // For K = 3:
  virtual std::optional<StudentTails> student_tails(const Datum&) const { return std::nullopt; }
  /// For a datum that has none of these forms.   mean, variance: K
  virtual Nesting nesting(const Datum&, const double* /*mean*/, const double* /*variance*/) const {
    refuse();
  }
  /// Its log p given eta_outer, a function of the K - 1 others, with the current hyperparameters.
  virtual std::unique_ptr<Likelihood> inner(const Datum&, double /*outer*/) const { refuse(); }
  /// s and its derivatives, s^(k), k = 0..4, where the nesting has a sigmoid_weight; such a datum has no
  /// inner().
  virtual void shift(const Datum&, double /*outer*/, double /*out*/[5]) const { refuse(); }
  /// gradient[h] += weight d s / d hyper_h
  virtual void add_shift_gradient(const Datum&, double /*outer*/, double /*weight*/, VectorRef) const {
    refuse();
  }

  // For inference.
  /// Several latent values may account for a response, so that a change of one is compensated by another.
  bool compete() const override { return false; }
  /// Approximately the eta_K that fits this datum best if eta_1 ~ N(mean, variance); not finite if there is
  /// none.
  virtual double last_of(const Datum& datum, double mean, double variance) const = 0;
  /// Approximately the likelihood of the others for a known eta_K.
  virtual std::shared_ptr<const Likelihood> others_given(double last) const = 0;

  // For predictions.
  /// One of the following.
  virtual std::optional<ZeroMixture> zero_mixture() const { return std::nullopt; }
  virtual const PredictedParameter* predicted_parameter() const { return nullptr; }
  /// The density is a user's function (likelihood/custom_several.h).
  virtual const CustomSeveral* custom_several() const { return nullptr; }

  // Functions of one latent value.
  void derivatives(const Datum&, double, double[5]) const final { refuse(); }
  Smoothness smoothness() const final { refuse(); }
  double starting_eta(const Datum&) const final { refuse(); }

 protected:
  [[noreturn]] static void refuse() {
    throw std::logic_error("a likelihood with several linear predictors was evaluated at the value of one");
  }
};

/// eta_K is a parameter of the distribution: given eta_K, it is a likelihood of the other latent values.
class PredictedParameter : public Distributional {
 public:
  const PredictedParameter* predicted_parameter() const final { return this; }
  /// That likelihood, of K - 1 latent values.
  virtual std::unique_ptr<Likelihood> given(double last) const = 0;
  /// How Var[y | eta] depends on eta_K = s: linearly in exp(2 s), in exp(s), in exp(-s) or in 1 / (1 +
  /// exp(s)). no_mean: E[y | eta] depends on eta_K too, and grows so fast that it has no mean under a
  /// Gaussian. general: E[y | eta] or Var[y | eta] depends on it in another way.
  enum class NoiseForm { square, direct, inverse, share, no_mean, general };
  virtual NoiseForm noise_form() const = 0;
  /// How near to the real line P(Y <= y | eta_K) and p(y | eta_K) have singularities, or are large, under
  /// eta ~ N(mean, .).   mean: K
  virtual double width(const double* /*mean*/) const { return 0.75; }

  std::unique_ptr<Likelihood> inner(const Datum&, double outer) const override { return given(outer); }
  std::shared_ptr<const Likelihood> others_given(double last) const override { return given(last); }

  double log_density(const Datum& datum, const double* eta) const override {
    return given(eta[last()])->log_density(datum, eta);
  }
  double conditional_mean(const Datum& row, const double* eta) const override {
    return given(eta[last()])->conditional_mean(row, eta);
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return given(eta[last()])->conditional_variance(row, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return given(eta[last()])->conditional_cdf(datum, eta);
  }
  bool discrete() const override { return given(0.0)->discrete(); }
  Support support(const Datum& row) const override { return given(0.0)->support(row); }
};

}  // namespace galvi
