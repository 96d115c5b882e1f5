#include "inference/natural_gradient.h"

#include <algorithm>

#include "inference/ascent.h"
#include "inference/global_climb.h"

namespace galvi {

// Bounds on many classes under wide priors bend in the mean otherwise than lambda says, and the natural
// gradient crawls along their ridges: what has not settled after a hundred steps goes on with Newton's
// direction for the mean.
InferenceResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace) {
  constexpr int patience = 100;
  InferenceControl part = control;
  part.max_iterations = std::min(patience, control.max_iterations);
  InferenceResult first = climb(model, start, part, trace);
  part.max_iterations = control.max_iterations - first.iterations;
  if (first.iterations < patience || first.converged || part.max_iterations == 0) return first;
  InferenceResult rest = climb(model, first.posterior.sites, part, trace, {true});
  rest.iterations += first.iterations;
  return rest;
}

InferenceResult natural_gradient_by_sums(GlobalModel model, const std::optional<Sites>& start,
                                         const InferenceControl& control, Trace& trace) {
  return global_climb(model, model.start(start), control, trace, false);
}

}  // namespace galvi
