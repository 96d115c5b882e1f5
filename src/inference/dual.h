#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Minimises the dual of 001 (dual_problem.h) by quasi-Newton steps that stay inside its domain: one variable
/// per observation and latent, a convex problem. Each of its points is a posterior too, and the dual less the
/// best of their bounds, which no optimum exceeds by more, is the gap that the trace shows and that ends the
/// search.
///
/// What is known of the Hessian, C and the conjugates' own curvature, is the search's first metric, by
/// conjugate gradients; L-BFGS learns the rest, the log determinant's (V o V) / 2, unless products with that
/// are cheap too, when steps are Newton's. Entries that would leave the domain are stopped by themselves
/// rather than the whole step with them. With control.cold it is the paper's search: L-BFGS from a multiple
/// of the identity, eq. 26 on the whole step.
InferenceResult dual(LatentGaussianModel& model, const std::optional<Sites>& start,
                     const InferenceControl& control, Trace& trace);

/// Where strong duality does not hold or the domain has other edges than the search knows.
std::string dual_refuses(const LatentGaussianModel& model);

}  // namespace galvi
