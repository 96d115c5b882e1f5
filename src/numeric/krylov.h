// Krylov methods for linear systems whose matrix is known by its products alone.
#pragma once

#include <functional>

#include "numeric/types.h"

namespace galvi {

using LinearMap = std::function<Vector(const Vector&)>;

/// GMRES without restart, preconditioned from the right: A x = rhs until |rhs - A x| <= tolerance |rhs|, or for
/// max_iterations.
Vector gmres(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs, double tolerance,
             int max_iterations);

/// Conjugate gradients, for symmetric A: until the residual, in the norm of the preconditioner, is `tolerance`
/// times the first one, or for max_iterations. A preconditioner that projects keeps x in its subspace.
Vector conjugate_gradients(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs,
                           double tolerance, int max_iterations);

}  // namespace galvi
