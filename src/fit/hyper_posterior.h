// The posterior of the learned hyperparameters around its mode, on the unconstrained scale: a normal
// distribution from the Hessian, or a density interpolated between the points of an integration
// (fit/integrate.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/curvature.h"

namespace galvi {

struct HyperPosterior {
  std::vector<Index> at;       // positions of the learned ones in the table
  Vector value, lower, upper;  // their mode and range
  Vector estimate;             // where they were learned, which weak priors may move the mode away from
  std::vector<Index> free;     // which of these have a posterior.   m
  Matrix axes;  // x = mode + axes z, with z standard normal unless the density is interpolated.   m x m
  std::vector<Index> flat;  // which of the free ones data and priors do not determine

  std::string design;          // of the points; empty for the normal distribution, as is what follows
  Vector below, above;         // lengths of the sides of each axis.   m
  Matrix z;                    // points in units of these.   S x m
  Vector weight, log_density;  // S
  Matrix known_z;              // what the density is interpolated from, in units of the axes
  Vector known_fall;           // by how much the log density falls there from the mode
  double log_evidence = 0;     // the bound after integrating over the hyperparameters

  Index size() const { return static_cast<Index>(free.size()); }
  /// All learned hyperparameters at z, in units of the axes.
  Vector place(const Vector& z) const;
  bool in_range(const Vector& x) const;
  /// The length of the side on which each element of z lies: that of their mean at zero.   n x m
  Matrix sides(const Matrix& z) const;
  /// z in units of the sides -> of the axes.
  Matrix stretch(const Matrix& z) const { return z.cwiseProduct(sides(z)); }
};

/// The normal approximation. A hyperparameter at the end of its range has no meaningful curvature; the
/// posterior of the others is conditional on it. at_bound: of the table. Empty without a Hessian.
std::optional<HyperPosterior> normal_posterior(const Curvature& curvature, const std::vector<bool>& at_bound);

/// Log density at z up to a constant: the normal's and a spline with kernel |distance|^3 through the
/// differences, which grows linearly with distance, so that the normal's tails dominate in the end.   z: n x m,
/// of the axes
Vector log_density(const HyperPosterior& posterior, const Matrix& z);

/// Weighted points of the posterior from uniform numbers, of which a grid's are around its points, or even along its line.
struct HyperPoints {
  Matrix x;       // S x learned
  Matrix z;       // S x m
  Vector weight;  // S, the largest is one
  double scale;   // log of what they are divided by
};
HyperPoints hyper_points(const HyperPosterior& posterior, const Matrix& U);
/// Those for quantiles and integrals.
HyperPoints hyper_points(const HyperPosterior& posterior);

/// log of the integral of the density, whose value at the mode is one, over the unconstrained
/// hyperparameters.
double log_volume(const HyperPosterior& posterior);

}  // namespace galvi
