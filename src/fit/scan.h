// Where the search for lengthscales starts.
#pragma once

#include <vector>

#include "hyper/optimise.h"

namespace galvi {

/// Tries shorter lengthscales than those of the table, or of a process without one larger variances per cubed unit of its
/// input, one term after the other and until the bound falls by more than ten: where it is highest, a search starts. By
/// default a lengthscale is the median distance between the rows, from which a search can end at a local maximum that
/// takes the faster changes for noise.
/// Only those with Hyperparameter::guessed are moved. The trace has what was tried as steps of the
/// search.
/// @return where inference at the table's values may start: `start` if nothing was tried or had a posterior
std::optional<Start> scan_lengthscales(LatentGaussianModel& model, const Algorithm& algorithm,
                                       HyperTable& table, std::optional<Start> start,
                                       InferenceControl inference, Trace& trace);

/// Where other searches of few rows with gaussian noise start, whose evidence often has several maxima: at long
/// lengthscales, and at hardly any noise. From lengthscales that are too short a step can end where no two rows are
/// correlated. Empty where no lengthscale is guessed or a search would take longer than milliseconds.
/// @param first Where the first search began.
std::vector<Vector> starts_of_few_rows(const LatentGaussianModel& model, const HyperTable& table, const Vector& first);

/// Where other searches start: where neighbours along the one input of a process have correlated scores dE/dm, so that
/// the search has ended at a process which takes faster changes for noise. Its lengthscale there is as short as the
/// data can tell, its variances are those of `first`, and a gaussian's noise is less by what neighbours share. Of
/// several lengthscales of a kernel, as of a sum, each is the short one of a start, and the others are as they were
/// found. Empty where no process has such scores.
/// @param table At what the search has found, with the posterior q.
std::vector<Vector> starts_of_faster_process(const LatentGaussianModel& model, const HyperTable& table,
                                              const Posterior& q, const Vector& first);

}  // namespace galvi
