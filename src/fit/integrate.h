// The posterior of the hyperparameters by weighted states of the fit, where users ask for it (hyper = "integrate") or
// find_uncertainty() (fit/fit.cpp) chooses it.
//
// With q(z, theta) = q(theta) q(z | theta) the bound is best at q(theta) proportional to exp(ELBO(theta))
// p(theta), and log int exp(ELBO) p dtheta is still a bound on the log evidence. The axes are those of the
// Hessian at the mode; each side of each has its own length, so that the log density falls by one at sqrt(2)
// (Rue, Martino and Chopin 2009). Where more is known of the log evidence than the bound (fit/evidence.h), that
// takes the place of the ELBO, and a fit subtracts it again from log_evidence, which stays a bound. Predictions
// average over the points; marginals of the hyperparameters are those of a density that interpolates the log
// density at the points (fit/hyper_posterior.h).
#pragma once

#include <functional>

#include "fit/hyper_posterior.h"

namespace galvi {

/// The most hyperparameters for which "auto" is a grid.
constexpr Index most_on_grid = 3;

/// By how much the log density at z, in units of the axes, is below that at the mode; empty where there is no
/// posterior. `point`: whether z is a point of the integration.
using Fall = std::function<std::optional<double>(const Vector& z, bool point)>;

/// The points and all that follows from them. design: "grid", "ccd" or "auto", a grid for up to three
/// hyperparameters; top: the log density at the mode. The points are visited in their order, the mode first.
void integrate(HyperPosterior& posterior, const std::string& design, double top, const Fall& fall);

/// The same by given points, the mode first, and their weights.   z: S x m, of the axes
void integrate_at(HyperPosterior& posterior, const Matrix& z, const Vector& weight, double top, const Fall& fall);

/// The central composite design of m dimensions, the centre first: corners, and two points on each axis.   S
/// x m
Matrix composite_design(Index m);

/// Points that were visited.
struct Points {
  Matrix z;     // S x m
  Vector fall;  // S
};
/// All points of the grid that are not too unlikely, from the mode outwards. The grid is that of whole
/// numbers which are all even or all odd: in three dimensions the body-centred cubic lattice, which needs the
/// fewest points to integrate a smooth function. A normal has 11 of them in one dimension, 29 in two, 59 in
/// three and 145 in four.
Points grid_points(Index m, const std::function<std::optional<double>(const Vector& z)>& visit);

}  // namespace galvi
