// A likelihood whose density is a user's function, which takes many rows at once.
#pragma once

#include <map>
#include <optional>

#include "likelihood/likelihood.h"
#include "numeric/parallel.h"
#include "quadrature/numeric_distribution.h"

namespace galvi {

/// The user's functions. A call is expensive, its elements are cheap. Called on the main thread only.
class DensityFunctions {
 public:
  virtual ~DensityFunctions() = default;
  /// Whose functions they are, for messages.
  virtual const std::string& owner() const = 0;
  /// The parameters, in the order of the functions' arguments.
  virtual const std::vector<std::string>& parameters() const = 0;
  /// Linear predictors (K), and where the search for those after the first starts.
  virtual Index latents() const = 0;
  virtual const std::vector<double>& starts() const = 0;
  /// log p(y_i | eta_i), -infinity where it is not a number.   y: n, eta: n x K
  virtual Vector log_density(const Vector& y, const ConstMatrixRef& eta, const Vector& parameters) const = 0;
  /// Throws, with the reason, where it is not a number.   eta: K
  virtual void check(double y, const Vector& eta, const Vector& parameters) const = 0;
  virtual bool has_derivatives() const = 0;
  /// First and second derivative in eta, for K = 1: n x 2.
  virtual Matrix derivatives(const Vector& y, const Vector& eta, const Vector& parameters) const = 0;
  /// Responses that are typical of the data; the scale on which log p changes with eta is measured at these.
  virtual const Vector& reference() const = 0;
};

/// The user's functions at the current parameters. Constants: `low` and `high` (the support), `discrete`.
struct CustomDensity {
  explicit CustomDensity(const LikelihoodSpec& spec);
  /// Whether there are parameters, which may have changed.
  bool read(const ConstVectorRef& hyper);

  Vector log_densities(const Vector& y, const ConstMatrixRef& eta) const {
    return functions->log_density(y, eta, parameters);
  }
  /// Searches and trial steps may reach values where a function overflows; where q has its mass it must not.
  void check(double y, const Vector& eta) const { functions->check(y, eta, parameters); }
  /// gradient += the derivatives of sum_i share_i log p(y_i | eta_i) in the parameters, by differences.
  void add_gradient(const Vector& y, const ConstMatrixRef& eta, const Vector& share, VectorRef gradient) const;
  /// The distribution of a response with this log density; errors name the user's function.
  NumericDistribution integrated(const VectorFunction& log_density, double centre) const;

  std::shared_ptr<const DensityFunctions> functions;
  std::vector<Index> positions;  // of the parameters in the table
  Vector parameters;
  Support support;
  bool discrete;

 private:
  double step(Index p) const;
};

/// log p(y | eta) = f(y, eta, parameters), K = 1. Derivatives that are not given are taken by differences;
/// distributions of a response are integrated over its support. A constant: `log_concave`.
class Custom final : public Likelihood {
 public:
  explicit Custom(const LikelihoodSpec& spec);
  Custom(CustomDensity own, bool log_concave) : own_(std::move(own)), log_concave_(log_concave) {}
  const Custom* custom() const override { return this; }
  void update(const ConstVectorRef& hyper) override;

  Vector log_densities(const Vector& y, const Vector& eta) const {
    return own_.log_densities(y, eta);
  }
  const CustomDensity& density() const { return own_; }
  void check(double y, double eta) const { own_.check(y, Vector::Constant(1, eta)); }
  bool has_derivatives() const { return own_.functions->has_derivatives(); }
  Matrix two_derivatives(const Vector& y, const Vector& eta) const {
    return own_.functions->derivatives(y, eta, own_.parameters);
  }
  /// The sum or integral of the density over the support.
  double mass(double eta) const { return distribution(eta, 0.0).mass(); }
  /// log p changes by a few hundredths of a nat over this distance in eta.
  double unit() const {
    if (!unit_) unit_ = measure_unit();
    return *unit_;
  }

  double log_density(const Datum& datum, const double* eta) const override;
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    out = log_densities(rows.data.y, eta.col(0)).array();
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override;
  /// The distance of singularities is unknown: the scale of log p's second derivative stands in.
  Smoothness smoothness() const override { return {5.0 * unit(), 1.0}; }
  bool log_concave() const override { return log_concave_; }
  double starting_eta(const Datum& datum) const override;
  bool discrete() const override { return own_.discrete; }
  Support support(const Datum& /*row*/) const override { return own_.support; }

  double conditional_mean(const Datum& row, const double* eta) const override;
  double conditional_variance(const Datum& row, const double* eta) const override;
  double conditional_cdf(const Datum& datum, const double* eta) const override;
  std::optional<double> predictive_mean(const Datum& row, double mean, double variance) const override;
  std::optional<double> predictive_mean_variance(const Datum& row, double mean, double variance) const override;
  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override;
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override;
  std::optional<double> predictive_quantile(const Datum& row, double mean, double variance,
                                            double probability) const override;

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override;
  bool has_hyper() const override { return !own_.positions.empty(); }

 private:
  /// Of the response under eta ~ N(mean, variance).
  const NumericDistribution& distribution(double mean, double variance) const;
  /// Of the response where eta is a multiple of 2^level.
  const NumericDistribution& at_lattice(int level, double multiple) const;
  /// Where eta varies over many units the mixture of distributions over eta is a long sum for each y. For its
  /// moments those given eta, which are smooth in eta, are averaged instead, by the trapezium sum over a
  /// lattice
  /// that all rows share.
  bool by_lattice(double variance) const;
  template <class Function>
  double mean_over_lattice(double mean, double variance, Function function) const;
  double measure_unit() const;

  CustomDensity own_;
  SerialLoops serial_;
  bool log_concave_;
  // Loops are serial, so the last result may be kept.
  mutable std::optional<double> unit_;
  mutable std::map<double, double> starts_;
  mutable std::map<std::pair<double, double>, NumericDistribution> distributions_;
  mutable std::map<std::pair<int, double>, NumericDistribution> lattice_;
};

}  // namespace galvi
