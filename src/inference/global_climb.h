// Ascent of the bound by sums over rows alone: natural gradient and fixed point for short latent vectors.
#pragma once

#include "global/global_model.h"
#include "inference/algorithm.h"

namespace galvi {

/// The natural-gradient step of this length: A + step D, and the mean for b moved by the same share. Empty
/// where A is not positive definite.
std::optional<GlobalPosterior> natural_step(const GlobalModel& model, const GlobalPoint& point,
                                            const GlobalStep& way, double step);

/// Climbs to the optimum from a point whose sums are known. joint: Newton's step for the means of all
/// predictors together instead of the natural gradient, for classes that compete and for bounds whose
/// curvature differs from W' Lambda W.
SumsResult global_climb(GlobalModel model, GlobalPoint point, const InferenceControl& control, Trace& trace,
                        bool joint);

}  // namespace galvi
