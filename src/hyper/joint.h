// q and the hyperparameters by L-BFGS (002, sections 4 and 5: KLSp as published optimises all
// parameters together).
#pragma once

#include "hyper/optimise.h"

namespace galvi {

struct JointResult {
  Start start;
  bool converged;
  double objective;  // bound + log prior
};

/// A run of at most max_iterations steps from a posterior at the table's values; the table ends at the best point found. Besides the
/// hyperparameters move mean and Cholesky factor of the whitened latent vector where it is short (K (L + L (L
/// + 1) / 2) numbers), and 2 N K sites where it is not. Inducing points that approach each other stick: what
/// the whitened vector says of a close pair depends on the direction from one to the other, so that in these
/// numbers, as in any others of q(z), no step moves them past each other.
JointResult optimise_jointly(LatentGaussianModel& model, HyperTable& table, const Posterior& start,
                             const HyperControl& control, int max_iterations, Trace& trace);

}  // namespace galvi
