// Array arithmetic for x86 processors with AVX2 and FMA: four rows at once. Call only if has_avx2().
#pragma once

#include "numeric/types.h"

namespace galvi {

/// t_i <- exp(-t_i) for t_i >= 0, exactly 0 below 1e-300.
void exp_minus_avx2(Index n, double* t);

/// out_i = sum_d (X_id - z_d)^2.   X: rows x columns, column-major.
void squared_distances_avx2(Index rows, Index columns, const double* X, const double* z, double* out);

}  // namespace galvi
