// GMRES without restart, preconditioned from the right: few iterations on operators that are only products.
#pragma once

#include <functional>

#include "numeric/types.h"

namespace galvi {

using LinearMap = std::function<Vector(const Vector&)>;

/// Solves A x = rhs until |rhs - A x| <= tolerance |rhs| or max_iterations. A and the preconditioner are
/// products.
Vector gmres(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs, double tolerance,
             int max_iterations);

}  // namespace galvi
