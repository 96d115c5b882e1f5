#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Challis and Barber's method (004, section 4): L-BFGS over the mean u and the triangular factor S of q(z~)
/// = N(u, S S'), z~ the whitened latent vector, without sites. The trace records the bound of this free-form
/// q; the posterior is that of the sites lambda = -2 dE/dv, b = dE/dm + lambda f at its marginals, one
/// fixed-point step further.
///
/// With control.cold it starts at the prior and moves in (u, S). Otherwise it starts after a few
/// natural-gradient steps, and now and then changes to the units of the current q. Memory: K (2 N L +
/// O(L^2)).
SiteResult cholesky_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace);

/// The same where sums over rows suffice: q itself is the result.
SumsResult cholesky_gradient_by_sums(GlobalModel model, const std::optional<Start>& start,
                                     const InferenceControl& control, Trace& trace);

}  // namespace galvi
