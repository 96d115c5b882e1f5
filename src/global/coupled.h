// The Gaussian posterior in which the latent values of a row may be correlated.
#pragma once

#include "global/global_model.h"

namespace galvi {

/// N(mean, covariance) of the whitened columns of all predictors, one after the other.
struct CoupledPosterior {
  Vector mean;
  Matrix covariance;
};

/// Newton's matrix for the means of all predictors: blockdiag(P_k) + sum_n W_k' (-d2E / dm_k dm_l) W_l, lower
/// triangle. The point must have the joint sums.
Matrix newton_matrix(const GlobalModel& model, const GlobalPoint& point);

/// One step from a q that factorises over predictors to the best Gaussian that does not. By Price's theorem
/// the site precisions of the latter are -E[d2 log p / d eta_k d eta_l], which with exact expectations is
/// -d2E / dm_k dm_l. The step is therefore Newton's step for the means, and the covariance the inverse of its
/// matrix. Empty where nothing couples the predictors, or where the matrix is not positive definite.
std::optional<CoupledPosterior> coupled_posterior(GlobalModel model, const GlobalPosterior& q);

}  // namespace galvi
