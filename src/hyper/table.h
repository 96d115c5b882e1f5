// The model's hyperparameters: one table, natural scale outside, unconstrained scale for the optimiser.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hyper/prior_density.h"
#include "numeric/types.h"

namespace galvi {

/// A one-to-one map from the interval of a hyperparameter theta to all real numbers x, where the optimiser
/// moves.
struct Transform {
  std::string name;
  double lower, upper;                           // of theta, both excluded
  double (*forward)(double theta);
  double (*backward)(double x);
  double (*slope)(double theta);                 // d theta / d x
  double (*log_slope_derivative)(double theta);  // d log|d theta / d x| / d x
  /// For numbers in order: theta is the distance from the value in the row before.
  bool of_distance = false;
};
const std::vector<Transform>& transforms();
/// Throws std::invalid_argument for an unknown name.
const Transform& find_transform(const std::string& name);

struct Hyperparameter {
  double value;
  const Transform* transform;
  bool learned;
  double lower, upper;                        // the range of theta that is searched, for learned ones
  std::shared_ptr<const PriorDensity> prior;  // null for none
};

class HyperTable {
 public:
  explicit HyperTable(std::vector<Hyperparameter> rows);

  Index size() const { return static_cast<Index>(rows_.size()); }
  Index learned() const { return static_cast<Index>(learned_.size()); }
  const Vector& values() const { return values_; }
  void set_values(const Vector& values) { values_ = values; }

  /// The learned ones on the unconstrained scale, and their bounds there.
  Vector unconstrained() const;
  Vector lower() const { return bounds(&Hyperparameter::lower); }
  Vector upper() const { return bounds(&Hyperparameter::upper); }
  void set_unconstrained(const Vector& x);
  /// Which of the learned ones are places, not scales: their unconstrained scale is their own.
  Eigen::Array<bool, Eigen::Dynamic, 1> is_place() const;
  /// Which entries of the whole table are learned and sit at a bound.
  std::vector<bool> at_bound() const;

  /// Sum of log p(theta) + log|d theta / d x| over those with a prior: the density on the unconstrained
  /// scale.
  double log_prior() const;
  /// The gradient on the unconstrained scale from that of the bound on the natural scale (whole table),
  /// priors added.
  Vector chain(const Vector& natural_gradient) const;

 private:
  Vector bounds(double Hyperparameter::*bound) const;
  /// What the transform acts on: the value, or its distance from the one before.
  double argument(Index h) const;

  std::vector<Hyperparameter> rows_;
  std::vector<Index> learned_;
  Vector values_;
};

}  // namespace galvi
