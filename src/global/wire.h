// Posteriors and contributions as arrays of numbers, to be sent to other processes.
#pragma once

#include <vector>

#include "global/row_source.h"

namespace galvi {

/// Mean and root of each predictor, the root as its lower triangle.
std::vector<double> to_numbers(const GlobalPosterior& q);
/// Throws std::invalid_argument if they do not belong to this model. The precision is left empty:
/// contributions do not need it.
GlobalPosterior posterior_from_numbers(const LatentGaussianModel& model, const std::vector<double>& numbers);

/// Symmetric matrices as triangles; parts that were not requested take no numbers.
std::vector<double> to_numbers(const Contribution& sums);
Contribution contribution_from_numbers(const LatentGaussianModel& model, const Question& question,
                                       const std::vector<double>& numbers);

}  // namespace galvi
