// Starting from part of the rows, which costs little and leaves little to do.
#pragma once

#include "fit/choose.h"
#include "hyper/optimise.h"

namespace galvi {

/// Learns from part of the rows, `part`, where learning from all of them starts. Part of the rows may say
/// that an input does not matter, and there the bound of all rows is flat too: hyperparameters other than
/// places go no further than a factor of e^2 by each part.
/// -> the Hessian of minus the part's objective there, positive definite; empty where it is not known or would take long
std::optional<Matrix> learn_from_part(LatentGaussianModel& part, const Method& method, InferenceControl inference,
                                      HyperTable& table);

/// Where inference from all rows starts if its bound may have several optima: at the best that `part` of the
/// rows finds from several starts, each row standing for as many as there are. Empty where the bound is known
/// to have one optimum, or the part has no posterior.
std::optional<Start> start_from_part(const LatentGaussianModel& model, LatentGaussianModel& part,
                                     const Algorithm& algorithm, InferenceControl control);

}  // namespace galvi
