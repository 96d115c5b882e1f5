// Where inference begins when nobody says.
#pragma once

#include <vector>

#include "model/latent_gaussian_model.h"

namespace galvi {

/// Sites of each observation alone: a natural-gradient step from its prior marginal where that is a moderate
/// move, else the quadratic expansion of its log likelihood around its own starting value. The latter where
/// the expectation at the prior overflows (counts under a wide prior), and for coefficients that many rows
/// share.
Sites initial_sites(LatentGaussianModel& model);

/// Other places to start from, for bounds with several optima: every observation taken at its word, and with
/// a hundredth of its weight, which is a smoother fit. The prior for K > 1.
std::vector<Sites> other_starts(LatentGaussianModel& model);

/// The posterior of the given start, or of initial_sites(); shrunk towards the prior until its bound is
/// finite.
Posterior initial_posterior(LatentGaussianModel& model, const std::optional<Sites>& start, int order);

}  // namespace galvi
