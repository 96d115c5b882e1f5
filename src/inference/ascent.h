// The safeguarded step that all site-moving algorithms share: the bound never falls.
#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Moves `current` towards `target` in the natural parameters, by at most `step`: the step is halved until
/// the bound (SitePosterior::merit) does not fall. True if it moved; `step` is then the step taken. The solvers
/// end factorised at `current`.
bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order,
                  SitePosterior& current);

/// Moves m towards alpha of V (g + lambda f), g = dE/dm, for fixed V: Newton's step where lambda is minus the
/// curvature, an ascent direction in any case. Halved until the bound does not fall; true if it moved.
bool mean_step(LatentGaussianModel& model, SitePosterior& current);

/// Optimises m for this V by Newton's method for the means of all latents together, to a tenth of `tol`; true
/// if it moved. Here and in newton_target() the solvers are factorised at that posterior and its expectations
/// are of order 2.
bool settle_mean(LatentGaussianModel& model, double tol, SitePosterior& current);

/// Newton's step for the means of all latents together, for fixed V, and lambda = -2 dE/dv. It equals
/// natural_target() where the expectation is exact and K = 1. Elsewhere classes compete, or the curvature of
/// a bound differs from lambda, and natural_target() is a slow fixed-point iteration.
Sites newton_target(LatentGaussianModel& model, const SitePosterior& posterior);

/// Whether newton_target() is the better target: where classes or predictors compete for one response,
/// and with bounds, whose lambda is not the curvature in the mean.
inline bool moves_means_together(const LatentGaussianModel& model) {
  return model.likelihood().compete() || !model.expectation().exact();
}

/// Whether there is a posterior after the step, with a merit that is no lower up to rounding.
inline bool holds(std::optional<SitePosterior>& next, const SitePosterior& current) {
  return next && next->holds_after(current);
}

/// Records the point; true if the algorithm is done.
bool finished(LatentGaussianModel& model, const InferenceControl& control, Trace& trace, SiteResult& out);

struct Climb {
  bool joint = false;  // towards newton_target() instead of natural_target()
  /// The number of earlier points that Anderson acceleration in (b, lambda) uses; none: what the rows allow.
  std::optional<std::size_t> memory = std::nullopt;
};

/// Climbs to the optimum. A step that would lower the bound is replaced by a plain one, shortened.
SiteResult climb(LatentGaussianModel& model, const std::optional<Sites>& start,
                 const InferenceControl& control, Trace& trace, const Climb& how = {});

}  // namespace galvi
