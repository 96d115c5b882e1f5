// Projected Newton's method: with a Hessian by differences of the gradient (003, section 3.3, "means-PN"), or with one that
// is known roughly and learned on the way.
#pragma once

#include "numeric/lbfgs.h"

namespace galvi {

/// Minimises within lower <= x <= upper, for few variables. An iteration takes one gradient, and one more for
/// each variable away from its bounds. The Hessian's eigenvalues are replaced by their absolute values, so
/// that steps leave saddle points downhill; steps are projected on the bounds and halved until the value
/// falls (Bertsekas 1982). Stops as L-BFGS-B does, when the largest entry of the projected gradient is small.
LbfgsResult minimise_by_newton(const Objective& objective, const Vector& start, const Vector& lower,
                               const Vector& upper, const LbfgsControl& control);

/// The same from a guess of the Hessian, positive definite, which the gradients on the way correct (BFGS): one
/// evaluation an iteration.
LbfgsResult minimise_from_hessian(const Objective& objective, const Vector& start, Matrix hessian, const Vector& lower,
                                  const Vector& upper, const LbfgsControl& control);

}  // namespace galvi
