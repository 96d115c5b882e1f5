#pragma once

#include "numeric/types.h"

namespace galvi {

/// S points evenly spread over the unit cube of d dimensions: multiples of the powers of one irrational number, the
/// root of g^(d + 1) = g + 1 (Roberts 2018). No random numbers, so that results can be repeated.   S x d
Matrix even_points(Index S, Index d);

}  // namespace galvi
