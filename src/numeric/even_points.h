#pragma once

#include "numeric/types.h"

namespace galvi {

/// S points evenly spread over the unit cube of d <= 31 dimensions: multiples of irrational numbers. No
/// random numbers, so that results can be repeated.   S x d
Matrix even_points(Index S, Index d);

}  // namespace galvi
