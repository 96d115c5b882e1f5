// The curvature of the hyperparameters' log posterior at its mode.
#pragma once

#include <optional>
#include <vector>

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// The Hessian of the objective (bound + log prior) in some of the learned hyperparameters on the
/// unconstrained scale, with the others fixed: central differences of the envelope gradient, two inferences
/// for each, the first from the mode, the second from the extrapolated sites. The table keeps its values, the
/// model does not.
///
/// `which`: positions among the learned. `mode`: sites of the posterior at the table's values. Entries of
/// about 10 are accurate to 1e-4. Empty where a neighbouring point has no posterior.
std::optional<Matrix> objective_hessian(LatentGaussianModel& model, const Algorithm& algorithm,
                                        HyperTable& table, const std::vector<Index>& which,
                                        const Sites& mode, InferenceControl control);

}  // namespace galvi
