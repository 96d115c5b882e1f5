// The safeguarded step that every site-moving algorithm shares: the bound never falls.
#pragma once

#include "model/latent_gaussian_model.h"

namespace galvi {

/// Moves `current` towards `target` in the natural parameters, by `step` or less: the step is halved until
/// the bound (Posterior::merit) does not fall. True if it moved; `step` is what was taken. The solvers end
/// factorised at `current`.
bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order,
                  Posterior& current);

/// Newton's step for the means of all latents together, with V held: the alpha that dE/dm, to first order
/// around `posterior`, balances the prior with. The solvers are factorised at `posterior`, its expectations
/// are of order 2.
Matrix newton_alpha(LatentGaussianModel& model, const Posterior& posterior);

/// The same step for the means, and lambda = -2 dE/dv. It is natural_target() where the expectation is exact
/// and K = 1; elsewhere classes compete, or a bound bends otherwise than its lambda says, and
/// natural_target() is a slow fixed-point iteration.
Sites newton_target(LatentGaussianModel& model, const Posterior& posterior);

/// How much the bound may fall by rounding alone and still count as not falling.
inline double rounding(const Posterior& q) { return q.rounding; }

}  // namespace galvi
