#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Natural-gradient ascent (003 section 3; 002): the sites move towards lambda = -2 dE/dv, b = dE/dm + lambda
/// f. A step of size one on a Gaussian likelihood is exact. The step is halved while the bound falls and
/// doubled after.
InferenceResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace);

}  // namespace galvi
