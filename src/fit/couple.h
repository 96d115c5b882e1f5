// Classes whose latent values depend on each other in the posterior. The bound, and all that is learned by
// it, takes a q that factorises over them; coefficients, predictions and draws then take the best Gaussian
// that does not, a few steps from q, with covariances by linear response. Models of columns alone have it.
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

/// Where several latent values share the columns of one prior. Empty where the posterior factorises over
/// latent values or the best coupled one is not available. `states`: those of q. Where rows are not in memory
/// or are many the first step (global/coupled.h) is enough: the more rows, the less further steps change.
std::optional<Coupling> couple(LatentGaussianModel& model, const Posterior& q,
                               std::vector<SolverState> states);

}  // namespace galvi
