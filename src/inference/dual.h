#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Minimises the dual of 001 (dual_problem.h) by quasi-Newton steps that stay inside its domain: one variable
/// per observation and latent, a convex problem. Each point also gives a posterior. The dual less the highest
/// of their bounds is an upper bound on the gap; the trace shows it and the search ends by it.
///
/// The first metric of the search is the known part of the Hessian, C and the conjugates' own curvature,
/// applied by conjugate gradients; L-BFGS learns the rest, the log determinant's (V o V) / 2. Where products
/// with that are cheap too, steps are Newton's. Entries that would leave the domain are stopped individually,
/// and do not shorten the whole step. With control.cold it is the paper's search: L-BFGS from a multiple of
/// the identity, eq. 26 on the whole step.
SiteResult dual(LatentGaussianModel& model, const std::optional<Sites>& start,
                const InferenceControl& control, Trace& trace);

/// Refuses models without strong duality, or with a domain whose boundaries the search does not handle.
std::string dual_refuses(const LatentGaussianModel& model);

}  // namespace galvi
