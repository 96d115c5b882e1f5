// What method = "auto" means.
#pragma once

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// What a user asks for.
struct Method {
  std::string name = "auto";
  bool averages = false;  // over the variance that inducing points leave (generalised FITC)
};

/// The algorithm of that name or, for "auto", the fastest safe one. Throws std::invalid_argument for an
/// unknown name, and std::domain_error with the reason if the algorithm cannot serve the model.
const Algorithm& choose(const Method& method, const LatentGaussianModel& model);

/// The same where inducing points may be learned from many rows.
const Algorithm& choose_to_learn(const Method& method, const LatentGaussianModel& model,
                                 const HyperTable& table);

}  // namespace galvi
