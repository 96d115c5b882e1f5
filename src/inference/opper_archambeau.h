#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// L-BFGS over the 2N parameters of Opper and Archambeau (000 eq. 9 to 11).
///
/// With control.cold the variables are (alpha, lambda) as in 000, from a cold start: gradients Sigma (g -
/// alpha) and -(V o V)(lambda / 2 + g_v). Otherwise they are (b, lambda), and L-BFGS starts from the inverse
/// Fisher information as its curvature, which turns gradients into natural gradients without a matrix.
SiteResult opper_archambeau(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace);

}  // namespace galvi
