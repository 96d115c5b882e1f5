// Posteriors and contributions as runs of numbers, which other processes are sent.
#pragma once

#include <vector>

#include "global/row_source.h"

namespace galvi {

/// mean and root of each predictor, the root by its lower triangle.
std::vector<double> to_numbers(const GlobalPosterior& q);
/// Throws std::invalid_argument where they are not of this model. The precision is left empty: no contribution
/// asks for it.
GlobalPosterior posterior_from_numbers(const LatentGaussianModel& model, const std::vector<double>& numbers);

/// Triangles of symmetric matrices; what was not asked for takes no numbers.
std::vector<double> to_numbers(const Contribution& sums);
Contribution contribution_from_numbers(const LatentGaussianModel& model, const Question& question,
                                       const std::vector<double>& numbers);

}  // namespace galvi
