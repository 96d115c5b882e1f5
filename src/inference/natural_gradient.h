#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Natural-gradient ascent (003 section 3; 002): the sites move towards lambda = -2 dE/dv, b = dE/dm + lambda
/// f, each step accelerated by what earlier ones taught of the curvature (Anderson). A step of size one on a
/// Gaussian likelihood is exact. A step that would lower the bound is halved, and doubled after.
InferenceResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace);

/// The same in (m, A) of short latent vectors, where sums over rows suffice.
InferenceResult natural_gradient_by_sums(GlobalModel model, const std::optional<Sites>& start,
                                         const InferenceControl& control, Trace& trace);

}  // namespace galvi
