#pragma once

#include "numeric/types.h"

namespace galvi {

/// The shape k of a generalised Pareto distribution for the largest of these weights (Zhang and Stephens 2009): above
/// 0.5 their variance may be infinite. NaN where there are too few.
double pareto_tail(const Vector& weights);

}  // namespace galvi
