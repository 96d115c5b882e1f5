#pragma once

#include "numeric/types.h"

namespace galvi {

/// S points evenly spread over the inside of the unit cube of d dimensions: Halton's (1960) sequence, moved round by the golden ratio; in
/// more than 16 dimensions, where all such sequences have patterns, numbers without one. They are always the same
/// numbers, so that results can be repeated.   S x d
Matrix even_points(Index S, Index d);

}  // namespace galvi
