// Array arithmetic shared by kernels: whole columns at a time, so that processors can work on several rows at
// once.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// t <- exp(-t) for t >= 0, and exactly 0 below 1e-300: a denormal entry of a covariance matrix slows every
/// factorisation that meets it.
void exp_minus(ArrayRef t);

/// t <- exp(-t) - 1 for t >= 0.
void exp_minus_less_one(ArrayRef t);

/// out_ij = |X_i - Z_j|^2 by direct differences: no cancellation for close rows.   X: a x q, Z: q x b, out: a x b.
void squared_distances(const Matrix& X, const Matrix& Z, MatrixRef out);

/// The same for any processor; the functions above use wider registers where there are some.
void exp_minus_portable(ArrayRef t);
void squared_distances_portable(const Matrix& X, const Matrix& Z, MatrixRef out);

}  // namespace galvi
