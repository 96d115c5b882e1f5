#include "inference/natural_gradient.h"

#include "inference/ascent.h"
#include "inference/start.h"

namespace galvi {

InferenceResult natural_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace) {
  InferenceResult out;
  out.posterior = initial_posterior(model, start, 1);
  double step = 1;
  for (;;) {
    out.stationarity = model.stationarity(out.posterior);
    trace.add(out.posterior.elbo, out.stationarity.gap);
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) return out;
    if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) return out;
    step = std::min(1.0, 2 * step);
    ++out.iterations;
  }
}

}  // namespace galvi
