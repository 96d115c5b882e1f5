// Bounds that may have several optima: inference from several starts.
#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// The best of `first` and, unless the bound is known to have one optimum, runs of the algorithm from other
/// starts at the same hyperparameters, with a note if they do not agree. The solvers end factorised at the
/// result; `trace` is the path to it.
InferenceResult best_of_starts(LatentGaussianModel& model, const Algorithm& algorithm, InferenceResult first,
                               const InferenceControl& control, Trace& trace);

/// A message if these bounds differ; empty if they agree.
std::string several_optima(const std::vector<double>& bounds);

}  // namespace galvi
