// The algorithm of a fit.
#pragma once

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// `method` with "auto" resolved. `learn_many`: inducing points are learned from many rows.
const Algorithm& choose(const std::string& method, const LatentGaussianModel& model, const HyperTable& table,
                        bool learn_many);

}  // namespace galvi
