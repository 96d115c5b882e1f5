// Classes whose latent values depend on each other in the posterior.
#pragma once

#include <optional>
#include <vector>

#include "model/latent_gaussian_model.h"

namespace galvi {

/// The best Gaussian that joins the coefficients of classes.
struct Coupling {
  Matrix covariance;                // of all coefficients, one latent value after the other.   K q x K q
  std::vector<SolverState> states;  // with its marginals.   K
};

/// Where several latent values share the columns of one prior. Empty where the posterior factorises over latent
/// values or the best coupled one is not available. `states`: those of q.
std::optional<Coupling> couple(LatentGaussianModel& model, const Posterior& q, std::vector<SolverState> states);

}  // namespace galvi
