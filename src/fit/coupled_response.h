// Honest covariances where weighted points (fit/weighted_points.h) are too many or not to be believed: the best
// Gaussian in which all coefficients depend on each other, and linear response at it. By log densities alone, so that
// every likelihood has it; not for classes, whose priors are shared (fit/couple.h).
#pragma once

#include <string>

#include "fit/unknowns.h"

namespace galvi {

struct CoupledResponse {
  /// The mean of the best Gaussian and the covariance by linear response, as far as they are known.
  CoefficientGaussian gaussian;
  /// Of linear response (global/linear_response.h): near one the response is far from small and cannot be trusted.
  /// NaN where it was not computed, because it was refused or is too expensive.
  double radius;
  std::string refused;  // why, in a sentence without capital and full stop; else empty
  Index worst = 0;      // the coefficient whose variance grows most by linear response, or has no limit
  bool best = false;    // the mean and covariance are those of the best Gaussian, not of one step towards it
};

struct CoupledControl {
  double optimum = 1e-4;    // steps end when they are shorter, in standard deviations
  double response = 1e-4;   // residuals of linear response
  bool responds = true;     // false: the best Gaussian alone
};

/// At the model's hyperparameters; q: the posterior that factorises over its latent values, of which there are at
/// most three. The best Gaussian is found where nodes, rows and steps are few enough; else the one step from q, which
/// is as good where rows are many, takes its place.
CoupledResponse coupled_response(const Unknowns& unknowns, const Posterior& q, const CoupledControl& control = {});

}  // namespace galvi
