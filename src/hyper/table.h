// The model's hyperparameters: one table, natural scale outside, unconstrained scale for the optimiser.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hyper/prior_density.h"
#include "numeric/types.h"

namespace galvi {

/// A one-to-one map from the interval of a hyperparameter theta to the real numbers x, where the optimiser
/// moves.
struct Transform {
  std::string name;
  double lower, upper;                           // of theta, both excluded
  double (*forward)(double theta);
  double (*backward)(double x);
  double (*slope)(double theta);                 // d theta / d x
  double (*log_slope_derivative)(double theta);  // d log|d theta / d x| / d x
  /// What theta is: the value itself; for ordered numbers the distance from the value in the row before; for
  /// a correlation, except the first of a matrix, the partial correlation given the rows before
  /// (numeric/correlations.h).
  enum class Argument { value, distance, partial_correlation } argument = Argument::value;
  double unit = 1;  // of x: as much as one on a logarithmic scale
  bool relative() const { return argument != Argument::value; }
};
const std::vector<Transform>& transforms();
/// Throws std::invalid_argument for an unknown name.
const Transform& find_transform(const std::string& name);

/// The theta of values with one transform each: NaN where correlations do not form a correlation matrix.
Vector transform_arguments(const std::vector<const Transform*>& transforms, const Vector& values);

struct Hyperparameter {
  double value;
  const Transform* transform;
  bool learned;
  double lower, upper;                        // the range of theta that is searched, for learned ones
  std::shared_ptr<const PriorDensity> prior;  // null for none
  Index likelihood = -1;                      // whose parameter it is (likelihood/mixed.h); -1: no likelihood's
  std::string term;                           // whose parameter it is, if any's
  bool guessed = false;                       // is its start a guess of a lengthscale?
  /// Ends of its range stand for limits of the model: a variance of zero, a correlation of one.
  bool limited = false;
};

class HyperTable {
 public:
  explicit HyperTable(std::vector<Hyperparameter> rows);

  Index size() const { return static_cast<Index>(rows_.size()); }
  Index learned() const { return static_cast<Index>(learned_.size()); }
  const Vector& values() const { return values_; }
  void set_values(const Vector& values);
  /// Whether these (natural scale, whole table) are within the range that is searched.
  bool admits(const Vector& values) const;

  /// The learned ones on the unconstrained scale, and their bounds there.
  Vector unconstrained() const;
  Vector lower() const { return bounds(&Hyperparameter::lower); }
  Vector upper() const { return bounds(&Hyperparameter::upper); }
  void set_unconstrained(const Vector& x);
  /// Which of the learned ones are places, not scales: their unconstrained scale is the natural one.
  Eigen::Array<bool, Eigen::Dynamic, 1> is_place() const;
  /// For the learned ones: position in the whole table, and what Hyperparameter says.
  const std::vector<Index>& learned_positions() const { return learned_; }
  Index likelihood(Index i) const { return rows_[learned_[i]].likelihood; }
  bool limited(Index i) const { return rows_[learned_[i]].limited; }
  const Transform& transform(Index i) const { return *rows_[learned_[i]].transform; }
  const std::string& term(Index i) const { return rows_[learned_[i]].term; }
  bool guessed(Index i) const { return rows_[learned_[i]].guessed; }
  /// d theta / dx of the i-th learned one.
  double slope(Index i) const { return rows_[learned_[i]].transform->slope(arguments_[learned_[i]]); }
  /// d log prior / dx and d^2 log prior / dx^2 of the i-th learned one, a place.
  std::pair<double, double> prior_slopes(Index i) const;
  /// Which entries of the whole table are learned and at a bound.
  std::vector<bool> at_bound() const;
  /// The values (natural scale, whole table) with those of the table where they are at a bound.
  Vector away_from_bounds(const Vector& values) const;

  /// Sum of log p(theta) + log|d theta / d x| over those with a prior: the density on the unconstrained
  /// scale. The prior of a partial correlation is a density of theta itself, other priors of the value.
  double log_prior() const;
  /// The gradient on the unconstrained scale from that of the bound on the natural scale (whole table), with
  /// the priors' gradients added.
  Vector chain(const Vector& natural_gradient) const;

 private:
  Vector bounds(double Hyperparameter::*bound) const;
  /// The quantity whose density the prior of row h is.
  double with_prior(Index h) const;
  /// Sets theta of the learned rows.
  void set_arguments(const Vector& arguments);

  std::vector<Hyperparameter> rows_;
  std::vector<const Transform*> transforms_;
  std::vector<Index> learned_;
  Vector arguments_;  // theta of all rows
  Vector values_;
};

}  // namespace galvi
