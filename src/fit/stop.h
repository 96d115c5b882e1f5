// Reasons to stop, in words, and the fit that a stopped search leaves. An interrupt, or an error of a
// function of the user's, passes through the core as an exception of the border; then only
// Trace::best_so_far() is left.
#pragma once

#include <functional>
#include <string>

#include "hyper/optimise.h"

namespace galvi {

inline bool has_converged(const Fit& fit) { return fit.inference.converged && fit.hyper_converged; }

/// What ended a fit before it was done.
struct Stop {
  enum Reason { none, rows, time } reason = none;
  std::string failure;   // why rows could not be read
  bool settled = false;  // the searches were done
  explicit operator bool() const { return reason != none; }
};

/// Runs `phases` as long as the time lasts and the rows come. What is left is in the table, the trace and the
/// source of the rows. Throws SourceFailure where no pass over the rows was completed.
Stop until_stopped(LatentGaussianModel& model, const std::function<void()>& phases);

/// The best fit of all rows before a pass over them failed.
Fit fit_of_rows_so_far(LatentGaussianModel& model, HyperTable& table);

/// Where a search that began at `start` stood when its time was over: one more iteration says what holds
/// there.
Fit fit_of_best_so_far(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                       const std::optional<Start>& start, InferenceControl control, Trace& trace);

/// For users: why the fit has not converged, and what else it should say; empty for nothing.
std::string message_of(const Fit& fit, const InferenceControl& control, const Stop& stop);

}  // namespace galvi
