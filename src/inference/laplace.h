#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Laplace's approximation (003, sections 1.3.1 and 1.5): Newton's method for the mode of log p(y, eta) and
/// the curvature there. It is the fixed point of the Taylor expectation, and the "bound" reported is the
/// approximation of the log evidence: log p(y, eta) at the mode - log|Sigma A| / 2 + the Gaussian's
/// constants.
SiteResult laplace(LatentGaussianModel& model, const std::optional<Sites>& start,
                   const InferenceControl& control, Trace& trace);

}  // namespace galvi
