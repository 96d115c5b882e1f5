// A joint Gaussian of coefficients and hyperparameters as points that weigh the same, with which functions of both are
// averaged as with weighted points.
#pragma once

#include <optional>

#include "fit/hyper_posterior.h"
#include "fit/unknowns.h"

namespace galvi {

struct GaussianPoints {
  Matrix coefficients;  // S x L
  Matrix hyper;         // of the learned ones, on the unconstrained scale.   S x d
};

/// Points whose mean and covariance are these but for rounding, without random numbers.   mean: D; S x D
Matrix gaussian_points(const Vector& mean, const Matrix& covariance);

/// A posterior at some hyperparameters, those of `posterior` at z, and the log density there.
struct StarState {
  Vector z;  // m
  double log_density;
  CoefficientGaussian coefficients;
};

/// Where the states of a star are, in units of the axes: the centre first, and two on each axis.   (2 m + 1) x m
Matrix star_design(Index m);

/// The joint Gaussian of coefficients and free hyperparameters (L + m) by these states, the centre first: along each
/// axis by the weights of Gauss and Hermite's rule of three points times the ratio of the density to its Gaussian
/// approximation, as if axes were independent and moments sums of functions of one each: what is skew along one, as the
/// variance of a smooth, leaves the spread along the others as it is. Empty where the rule cannot be trusted: the
/// density at some state is far below that approximation, an axis lacks a state, or the coefficients' covariance given
/// the hyperparameters comes out as none.
std::optional<CoefficientGaussian> star_gaussian(const HyperPosterior& posterior, const std::vector<StarState>& states);

}  // namespace galvi
