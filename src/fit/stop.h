// Reasons to stop, in words, and the fit that a stopped search leaves. An interrupt, or an error of a function of the
// user's, passes through the core as an exception of the border; then only Trace::standing() is left.
#pragma once

#include "hyper/optimise.h"

namespace galvi {

/// What ended the searches before they were done.
struct Stop {
  enum Reason { none, rows, time } reason = none;
  std::string failure;  // why rows could not be read
};

/// What was found before the rows did not come any more.
Fit fit_of_rows_so_far(LatentGaussianModel& model, HyperTable& table);

/// Where a search that began at `start` stood when its time was over: one more iteration says what holds there.
Fit fit_of_standing(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                    const std::optional<Sites>& start, InferenceControl control, Trace& trace);

/// For users: why the fit has not converged, and what else it should say; empty for nothing.
std::string message_of(const Fit& fit, const InferenceControl& control, const Stop& stop);

}  // namespace galvi
