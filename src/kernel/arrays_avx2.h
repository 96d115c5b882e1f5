// Array arithmetic for x86 processors with AVX2 and FMA: four rows at once. Call only if has_avx2().
#pragma once

#include "numeric/types.h"

namespace galvi {

/// t_i <- exp(-t_i) for t_i >= 0, exactly 0 below 1e-300.
void exp_minus_avx2(Index n, double* t);

/// out_ij = sum_d (X_id - Z_dj)^2.   X: rows x columns, Z: columns x points, out: rows x points with its columns
/// `stride` apart; all column-major.
void squared_distances_avx2(Index rows, Index columns, Index points, const double* X, const double* Z, double* out,
                            Index stride);

}  // namespace galvi
