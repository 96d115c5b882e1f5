// q and the hyperparameters by one L-BFGS (002, section 3.3: KLSp as published optimises all parameters
// together).
#pragma once

#include "hyper/optimise.h"

namespace galvi {

struct JointResult {
  Sites sites;
  bool converged;
};

/// From a posterior at the table's values. The table ends at the best point found. What moves beside the
/// hyperparameters is mean and Cholesky factor of the whitened latent vector where that is short (K (L + L (L
/// + 1) / 2) numbers), and 2 N K sites where it is not. Inducing points on their way to each other stick:
/// what the whitened vector says of a close pair depends on the direction from one to the other, so that in
/// these numbers, and in any others of q(z), no step leads past.
JointResult optimise_jointly(LatentGaussianModel& model, HyperTable& table, const Posterior& start,
                             const HyperControl& control, Trace& trace);

}  // namespace galvi
