#include "inference/laplace.h"

#include "inference/ascent.h"
#include "inference/start.h"

namespace galvi {

InferenceResult laplace(LatentGaussianModel& model, const std::optional<Sites>& start,
                        const InferenceControl& control, Trace& trace) {
  InferenceResult out;
  out.posterior = initial_posterior(model, start, 1);
  double step = 1;
  // With E = l + v l'' / 2 the natural target is Newton's step: lambda = -l''(m), b = l'(m) + lambda f.
  // Shortened until log p(y, m) does not fall, the mean still moves along V (l' - alpha), uphill for any V.
  const auto newton_step = [&] {
    return natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior);
  };
  for (;;) {
    out.stationarity = model.stationarity(out.posterior);
    trace.add(out.posterior.elbo, out.stationarity.gap);
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) break;
    if (!newton_step()) break;
    step = std::min(1.0, 2 * step);
    ++out.iterations;
  }
  // The evidence moves with the first power of the mode's error, which one step more squares.
  step = 1;
  if (out.converged && newton_step()) {
    ++out.iterations;
    out.stationarity = model.stationarity(out.posterior);
    trace.add(out.posterior.elbo, out.stationarity.gap);
  }
  return out;
}

}  // namespace galvi
