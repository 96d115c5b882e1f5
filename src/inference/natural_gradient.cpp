#include "inference/natural_gradient.h"

#include <algorithm>

#include "inference/ascent.h"
#include "inference/global_climb.h"

namespace galvi {

// With bounds on many classes under wide priors the curvature in the mean differs from lambda, and the
// natural gradient is slow along their ridges. What has not converged after a hundred steps continues with
// Newton's direction for the mean.
SiteResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace) {
  constexpr int patience = 100;
  InferenceControl part = control;
  part.max_iterations = std::min(patience, control.max_iterations);
  SiteResult first = climb(model, start, part, trace);
  part.max_iterations = control.max_iterations - first.iterations;
  if (first.iterations < patience || first.converged || part.max_iterations == 0) return first;
  SiteResult rest = climb(model, first.posterior.sites, part, trace, {true});
  rest.iterations += first.iterations;
  return rest;
}

SumsResult natural_gradient_by_sums(GlobalModel model, const std::optional<Start>& start,
                                    const InferenceControl& control, Trace& trace) {
  return global_climb(model, model.start(start), control, trace, false);
}

}  // namespace galvi
