// Projected Newton's method with a Hessian by differences of the gradient (003, section 3.3, "means-PN").
#pragma once

#include "numeric/lbfgs.h"

namespace galvi {

/// Minimises within lower <= x <= upper, for few variables: an iteration takes as many gradients as there are
/// variables away from their bounds, and one. The Hessian's eigenvalues are made positive, |e|, so that a
/// step leaves saddle points downhill; steps are projected on the bounds and halved until the value falls
/// (Bertsekas 1982). Stops as L-BFGS-B does, when the largest entry of the projected gradient is small.
LbfgsResult minimise_by_newton(const Objective& objective, const Vector& start, const Vector& lower,
                               const Vector& upper, const LbfgsControl& control);

}  // namespace galvi
