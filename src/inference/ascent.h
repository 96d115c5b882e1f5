// The safeguarded step that every site-moving algorithm shares: the bound never falls.
#pragma once

#include "model/latent_gaussian_model.h"

namespace galvi {

/// Moves `current` towards `target` in the natural parameters, by `step` or less: the step is halved until the bound
/// does not fall. True if it moved; `step` is what was taken. The solvers end factorised at `current`.
bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order, Posterior& current);

/// How much a bound may fall by rounding alone and still count as not falling.
inline double rounding(double elbo) { return 1e-13 * (1 + std::abs(elbo)); }

}  // namespace galvi
