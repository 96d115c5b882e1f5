#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// FPi of Sheth and Khardon (004, section 4): one Newton step for m and one fixed-point step V <- T(V) (eq.
/// 8), in turn. A step that would lower the bound is shortened. Where the solver keeps a latent vector, K > 1
/// or the expectation is a bound, m and V move together (the natural-gradient form of the same step, section
/// 3.2; newton_target()) with Anderson acceleration.
SiteResult fixed_point(LatentGaussianModel& model, const std::optional<Sites>& start,
                       const InferenceControl& control, Trace& trace);

/// The natural-gradient form where sums over rows suffice.
SumsResult fixed_point_by_sums(GlobalModel model, const std::optional<Start>& start,
                               const InferenceControl& control, Trace& trace);

/// FPb of Sheth and Khardon (004, section 4): m to convergence by Newton's method, then V to convergence by
/// V <- T(V), in turn, with the same safeguard.
SiteResult fixed_point_batch(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace);

}  // namespace galvi
