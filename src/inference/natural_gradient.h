#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Natural-gradient ascent (003, section 2.1.2; 004, section 3.2): the sites move towards lambda = -2 dE/dv,
/// b = dE/dm + lambda f, with Anderson acceleration. A step of size one is exact for a Gaussian likelihood. A
/// step that would lower the bound is halved, and doubled afterwards.
SiteResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace);

/// The same in (m, A) of short latent vectors, where sums over rows suffice.
SumsResult natural_gradient_by_sums(GlobalModel model, const std::optional<Start>& start,
                                    const InferenceControl& control, Trace& trace);

}  // namespace galvi
