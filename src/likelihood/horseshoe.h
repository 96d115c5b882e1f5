// The regularised horseshoe prior of coefficients (Piironen and Vehtari 2017).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "likelihood/identity_link.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// p(b) = int N(b; 0, s^2) t+_df(l) dl, 1 / s^2 = 1 / (tau l)^2 + 1 / c^2: a scale mixture of normals. The
/// trapezium rule in u = log l is exact to rounding, so it is a finite mixture; with z = |b| / tau, eps = tau / c
///   log p(b) = -log tau - (eps z)^2 / 2 + G(log z),   exp G(x) = sum_j w_j exp(-exp(2 (x - u_j)) / 2),
///   w_j = step sqrt(exp(-2 u_j) + eps^2) t+(exp u_j) exp(u_j) / sqrt(2 pi).
/// With eps = 0 and df = 1 that is log[(2 pi^3)^(-1/2) exp(z^2 / 2) E1(z^2 / 2)], whatever z is.
class HorseshoeMixture {
 public:
  /// G and its slopes in -x and, at fixed z, in log c.
  struct Value {
    double log_sum, fall, slab;
  };
  /// slab: c, or infinity.
  void set(double df, double global, double slab);
  double global() const { return tau_; }
  double ratio() const { return ratio_; }
  /// By the sum, or where z is tiny by its limit, log(a - b log z).
  Value at(double log_z) const;
  /// The values at log z = i spacing, from a lattice that is made when it is first asked for; beyond it by the limits, in
  /// the tail a line in log z.
  const std::vector<Value>& lattice() const;
  Value at_lattice(const std::vector<Value>& lattice, long i) const;
  static constexpr double spacing = 1.0 / 16;
  /// d^k G / d z^k, k = 0..4, z > 0.
  void derivatives(double z, double out[5]) const;
  /// The mixture: P(b <= x), and its variance.
  double cdf(double x) const;
  double variance() const;

 private:
  struct Node {
    double log_weight, precision, share;  // w_j, exp(-2 u_j), the share of eps^2 in exp(-2 u_j) + eps^2
    double log_mass;                      // step t+(exp u_j) exp(u_j), the mixture's
  };
  struct Mass {
    double log_mass, precision;  // of a node, at any tau and c
  };
  struct Lattice {
    std::once_flag made;  // threads share a likelihood
    std::vector<Value> values;
  };
  void extend_mass(long begin, long end);
  std::size_t first(double log_z) const;
  Value sum_at(double log_z) const;
  Value near_zero(double log_z) const;

  double df_ = 0, tau_ = 0, ratio_ = 0;
  double lowest_ = 0;  // u of the first node
  std::vector<Node> nodes_;
  long mass_begin_ = 0;
  std::vector<Mass> mass_;  // at u = (mass_begin_ + k) u_step
  long low_ = 0, high_ = 0;
  Value lowest_value_{};  // at log z = low_ spacing
  std::shared_ptr<Lattice> lattice_;
};

/// Its log density as the likelihood of a row. Expectations under eta ~ N(m, v) are the trapezium rule in
/// log |eta|, which takes the singularity at 0, log(-log |eta|), to minus infinity; where 0 is far from the mean,
/// in eta.
class HorseshoePrior final : public IdentityLink {
 public:
  /// parameters: `global`, tau, and `slab`, c, in the table of hyperparameters; without the second, no slab.
  HorseshoePrior(double df, const LikelihoodSpec& parameters);
  void update(const ConstVectorRef& hyper) override;
  double log_density(const Datum& datum, const double* eta) const override;
  /// At the singularity those of a normal density of sd tau, from which inference may start.
  void derivatives(const Datum& datum, double eta, double out[5]) const override;
  Smoothness smoothness() const override { return {0.0, 0.0}; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override;
  bool has_closed_form() const override { return true; }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  double conditional_variance(const Datum&, const double*) const override { return mixture_.variance(); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return mixture_.cdf(datum.y - *eta);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override;
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override;
  bool has_hyper() const override { return true; }

 private:
  /// The gradient in log tau and log c from E fall, E slab and E (eps z)^2.
  void add_slopes(double fall, double slab, double square, double weight, VectorRef gradient) const;

  double df_;
  PositiveParameter global_;
  std::optional<PositiveParameter> slab_;
  HorseshoeMixture mixture_;
};

}  // namespace galvi
