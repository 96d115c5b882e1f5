// q and the hyperparameters by one L-BFGS (002, section 3.3: KLSp as published optimises all parameters
// together).
#pragma once

#include "hyper/optimise.h"

namespace galvi {

struct JointResult {
  Sites sites;
  bool converged;
};

/// From a posterior at the table's values. The table ends at the best point found.
JointResult optimise_jointly(LatentGaussianModel& model, HyperTable& table, const Posterior& start,
                             const HyperControl& control, Trace& trace);

}  // namespace galvi
