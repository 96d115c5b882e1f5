// Conjugate gradients, for symmetric operators that are only products.
#pragma once

#include "numeric/gmres.h"

namespace galvi {

/// Solves A x = rhs until the residual, in the norm of the preconditioner, is `tolerance` of what it was, or
/// for max_iterations. A preconditioner that projects keeps x in the subspace that it projects on.
Vector conjugate_gradients(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs,
                           double tolerance, int max_iterations);

}  // namespace galvi
