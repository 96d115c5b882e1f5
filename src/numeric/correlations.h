// Correlation matrices as unconstrained numbers: canonical partial correlations (Lewandowski, Kurowicka and
// Joe 2009); those of stationary processes as partial autocorrelations (Barndorff-Nielsen and Schou 1973).
#pragma once

#include "numeric/types.h"

namespace galvi {

// Of a q x q correlation matrix R, q (q - 1) / 2 numbers row after row of its lower triangle: R_21, R_31, R_32,
// R_41, .. Each is in (-1, 1), but together they must be positive definite. Partial correlations z_ij in (-1, 1),
// in the same order, need not: row i of R's Cholesky factor L is
//   L_ij = z_ij prod_{k<j} sqrt(1 - z_ik^2),  L_ii = prod_{k<i} sqrt(1 - z_ik^2).

/// q of a triangle of q (q + 1) / 2 numbers, the diagonal included.
Index matrix_order(Index numbers);
/// R itself, q x q.
Matrix correlation_matrix(const ConstVectorRef& correlations);
Vector correlations_of(const ConstVectorRef& partial);
/// NaN where R is not positive definite.
Vector partial_correlations(const ConstVectorRef& correlations);
/// d f / d z from d f / d R_ij.
Vector chain_correlations(const ConstVectorRef& partial, const ConstVectorRef& d_correlation);

/// The autocorrelations at lags 1, 2, .. of the stationary process with these partial autocorrelations, each in (-1, 1),
/// by the Durbin-Levinson recursion. slope: if not null, set to d autocorrelation / d partial.
Vector autocorrelations(const ConstVectorRef& partial, Matrix* slope = nullptr);

}  // namespace galvi
