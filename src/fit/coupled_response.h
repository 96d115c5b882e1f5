// Honest covariances where weighted points (fit/weighted_points.h) are too many or not to be believed: the best
// Gaussian in which all coefficients depend on each other, and linear response at it. By log densities alone, so that
// every likelihood has it. Classes with columns alone have more of their own (fit/couple.h).
#pragma once

#include <limits>
#include <string>

#include "fit/unknowns.h"

namespace galvi {

struct CoupledResponse {
  /// The mean of the best Gaussian and the covariance by linear response, as far as they are known: else of the best
  /// Gaussian, of one step towards it, or empty.
  CoefficientGaussian gaussian;
  /// Of linear response (global/linear_response.h): the nearer to one, the less it can be trusted. NaN where there is
  /// no linear response, because it was refused or is too expensive.
  double radius = std::numeric_limits<double>::quiet_NaN();
  std::string refused;  // why, in a sentence without capital and full stop; else empty
  Index worst = 0;      // the coefficient whose variance grows most by linear response, or has no limit
  bool best = false;    // the Gaussian is the best one, not one step towards it
};

struct CoupledControl {
  double optimum = 1e-4;      // steps end when they are shorter, in standard deviations
  double response = 1e-4;     // residuals of linear response
  bool responds = true;       // false: the best Gaussian alone
  double evaluations = 2e7;   // most evaluations of log densities
  double flops = 3e10;        // most of linear response
};

/// At the model's hyperparameters; q: the posterior that factorises over its latent values. The best Gaussian is found
/// where nodes, rows and steps are few enough and there are at most three latent values; elsewhere the one step from q
/// takes its place, which is as good where rows are many.
CoupledResponse coupled_response(const Unknowns& unknowns, const Posterior& q, const CoupledControl& control = {});

}  // namespace galvi
