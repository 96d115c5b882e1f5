// Default starting points of inference.
#pragma once

#include <functional>
#include <vector>

#include "model/latent_gaussian_model.h"

namespace galvi {

/// Sites of each observation alone: a natural-gradient step from its prior marginal where that moves it
/// moderately, else the quadratic expansion of its log likelihood around its own starting value. The latter
/// is used where the expectation at the prior overflows (counts under a wide prior), and for coefficients
/// that many rows share. For some rows of the model, with the moments of eta in the prior.   N x K each
Sites starting_sites(Context& context, const LatentGaussianModel& model, const Data& data,
                     const Matrix& prior_mean, const Matrix& prior_variance);

/// Other starting points, for bounds with several optima: every observation fitted as closely as possible,
/// and with a hundredth of its weight, which gives a smoother fit. With several linear predictors, where
/// starting_sites() treat responses as noise, the others than the first at their prior means; with classes the
/// prior.
std::vector<Sites> other_starts(LatentGaussianModel& model);

/// Calls attempt(factor), which returns the bound, for multiples of starting sites until it is finite; from a
/// bound that is hopelessly low on, for stronger sites as long as it rises. The last call is the best. Throws
/// std::domain_error if none is finite.
void find_finite_bound(Index rows, const std::function<double(double factor)>& attempt);

/// The posterior of the given start, or of starting_sites(); shrunk towards the prior until its bound is
/// finite.
SitePosterior initial_posterior(LatentGaussianModel& model, const std::optional<Sites>& start, int order);

}  // namespace galvi
