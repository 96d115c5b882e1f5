// The curvature of the hyperparameters' log posterior at its mode.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// The search's coordinates at its end, and how sharply the log posterior falls there.
struct Curvature {
  std::vector<Index> at;       // of the learned ones, in the table
  Vector value, lower, upper;  // of these, on the unconstrained scale
  std::vector<Index> which;    // which of them have the Hessian
  std::optional<Matrix> hessian;
};

/// A posterior at which one of `which` is `move` away from the mode, and the others at it. The model is there.
using SideVisit = std::function<void(Index i, double move, const Posterior& q)>;

/// `wanted`: positions in the table. The model moves if there are any among the learned.
Curvature curvature_at(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                       const std::vector<Index>& wanted, const Start& mode, const InferenceControl& control,
                       const SideVisit& visit = nullptr);

/// The Hessian of the objective (bound + log prior) in some of the learned hyperparameters on the
/// unconstrained scale, with the others fixed: central differences of the envelope gradient, two inferences
/// for each, the first from the mode, the second from the extrapolated sites. The table keeps its values, the
/// model does not.
///
/// `which`: positions among the learned. `mode`: sites of the posterior at the table's values. Entries of
/// about 10 are accurate to 1e-4. Empty where a neighbouring point has no posterior.
std::optional<Matrix> objective_hessian(LatentGaussianModel& model, const Algorithm& algorithm,
                                        HyperTable& table, const std::vector<Index>& which, const Start& mode,
                                        InferenceControl control, const SideVisit& visit = nullptr);

/// That of minus the objective in all learned hyperparameters, made positive definite, for a search from the table's
/// values; empty where it is not known or would take long.
std::optional<Matrix> search_hessian(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                                     const Start& start, const InferenceControl& control);

}  // namespace galvi
