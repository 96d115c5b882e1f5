#include "inference/fixed_point.h"

#include <algorithm>

#include "inference/ascent.h"
#include "inference/global_climb.h"
#include "model/start.h"

namespace galvi {

namespace {

// V <- T(V) = (Sigma^-1 + W' diag(gamma) W)^-1 with gamma = -2 dE/dv (004, eq. 6 and 8) for fixed m; the step
// in gamma is shortened until the bound does not fall. Where gamma is negative and no step along it raises
// the bound, it is set to zero (004, section 3.1).
bool covariance_step(LatentGaussianModel& model, SitePosterior& current) {
  const Matrix gamma = -2.0 * current.expectations.d_variance;
  std::vector<Matrix> targets{gamma};
  if (gamma.minCoeff() < 0) targets.push_back(gamma.cwiseMax(0.0));
  for (const Matrix& target : targets) {
    for (double step = 1; step > 1e-6; step *= 0.5) {
      const Matrix lambda = current.sites.lambda + step * (target - current.sites.lambda);
      auto next = model.at_covariance(lambda, current, 2);
      if (holds(next, current)) {
        current = std::move(*next);
        return true;
      }
    }
  }
  model.restore(current);
  return false;
}

}  // namespace

SiteResult fixed_point(LatentGaussianModel& model, const std::optional<Sites>& start,
                       const InferenceControl& control, Trace& trace) {
  // Coefficients that all rows share make the plain iteration slow.
  const bool full = model.full() && model.null_dimension() == 0;
  const bool joint = moves_means_together(model);
  const bool plain =
      full && model.latents() == 1 && (model.expectation().exact() || !model.expectation().consistent());
  if (!plain) return climb(model, start, control, trace, {joint});
  SiteResult out;
  out.posterior = initial_posterior(model, start, 2);
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const bool mean_moved = mean_step(model, out.posterior);
    const bool covariance_moved = covariance_step(model, out.posterior);
    if (!mean_moved && !covariance_moved) return out;
  }
  return out;
}

SumsResult fixed_point_by_sums(GlobalModel model, const std::optional<Start>& start,
                               const InferenceControl& control, Trace& trace) {
  const bool joint = moves_means_together(model.model());
  return global_climb(model, model.start(start, joint), control, trace, joint);
}

SiteResult fixed_point_batch(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace) {
  constexpr int inner_iterations = 20;
  SiteResult out;
  out.posterior = initial_posterior(model, start, 2);
  SitePosterior& current = out.posterior;
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const double before = current.merit;
    bool moved = settle_mean(model, control.tol, current);
    for (int i = 0; i < inner_iterations; ++i) {
      const double before_step = current.merit;
      if (!covariance_step(model, current)) break;
      moved = true;
      if (current.merit - before_step <= 0.1 * control.tol) break;
    }
    if (!moved || current.merit - before < std::min(current.slack(), 1e-5 * control.tol)) {
      finished(model, control, trace, out);
      return out;
    }
  }
  return out;
}

}  // namespace galvi
