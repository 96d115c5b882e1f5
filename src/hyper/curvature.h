// How sharp the posterior of the hyperparameters is at its mode.
#pragma once

#include <optional>
#include <vector>

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// The Hessian of the objective (bound + log prior) in some of the learned hyperparameters on the unconstrained
/// scale, the others held: central differences of the envelope gradient, two inferences for each, the
/// first from the mode, the second from the other side of it. The table ends at its values, the model elsewhere.
///
/// `which`: positions among the learned. `mode`: sites of the posterior at the table's values. Entries are right
/// to about 1e-4 (of 10). Empty where a neighbour has no posterior.
std::optional<Matrix> objective_hessian(LatentGaussianModel& model, const Algorithm& algorithm,
                                        HyperTable& table, const std::vector<Index>& which,
                                        const Sites& mode, InferenceControl control);

}  // namespace galvi
