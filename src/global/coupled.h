// The Gaussian posterior in which several latent values of a row depend on each other.
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

/// One step from a q that factorises over predictors to the best Gaussian that does not. With exact expectations
/// -E[d2 log p / d eta_k d eta_l], the site precisions of the latter by Price's theorem, is -d2E / dm_k dm_l: the
/// step is Newton's for the means, and the inverse of its matrix the covariance. Empty where nothing couples the
/// predictors, or where the matrix is not positive definite.
std::optional<CoupledPosterior> coupled_posterior(GlobalModel model, const GlobalPosterior& q);

}  // namespace galvi
