#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Coordinate ascent of Khan, Mohamed and Murphy (000, Algorithm 1): the diagonal of V, one element after the
/// other with the rest of V^-1 fixed, each to the maximum of its own concave problem (eq. 16, except that the
/// row's own mean follows its variance); then m by Newton's method (eq. 21). The rank-one updates of V (eq.
/// 19, with its sign corrected, and 20) are done in blocks by matrix products.
SiteResult coordinate_ascent(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace);

}  // namespace galvi
