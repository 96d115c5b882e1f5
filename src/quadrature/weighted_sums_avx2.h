// Weighted sums of two or three arrays at once, for x86 processors with AVX2 and FMA.
#pragma once

#include "numeric/types.h"

namespace galvi {
namespace avx2 {

/// out[q] = sum_l weights[l] arrays[q][l], q < orders; orders: 2 or 3, size: a multiple of four. Call only if
/// has_avx2().
void weighted_sums(const double* weights, const double* const* arrays, Index size, int orders, double* out);

}  // namespace avx2
}  // namespace galvi
