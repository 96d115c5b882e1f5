#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// L-BFGS over the 2N parameters of Opper and Archambeau (000 eq. 9 to 11).
///
/// With control.cold the variables are (alpha, lambda) from a cold start, as the papers ran it: gradients
/// Sigma (g - alpha) and -(V o V)(lambda / 2 + g_v). Otherwise it starts after a few natural-gradient steps
/// and works in (sd b, log lambda), where the curvature is of order one: a second opinion on the other
/// algorithms.
InferenceResult opper_archambeau(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace);

}  // namespace galvi
