#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Gaussian likelihood: the posterior is Gaussian and the bound is the log evidence, log N(y | prior mean, C
/// + noise). Zero noise (interpolation) is allowed where the solver stores C.
SiteResult exact(LatentGaussianModel& model, const std::optional<Sites>& start,
                 const InferenceControl& control, Trace& trace);

}  // namespace galvi
