#include "inference/laplace.h"

#include "inference/ascent.h"

namespace galvi {

SiteResult laplace(LatentGaussianModel& model, const std::optional<Sites>& start,
                   const InferenceControl& control, Trace& trace) {
  // With E = l + v l'' / 2 the natural target is Newton's step: lambda = -l''(m), b = l'(m) + lambda f. It is
  // shortened until log p(y, m) does not fall; the mean still moves along V (l' - alpha), an ascent direction
  // for any V.
  constexpr bool joint = false;
  constexpr std::size_t memory = 0;  // superfluous with quadratic convergence
  SiteResult out = climb(model, start, control, trace, {joint, memory});
  out.stop = "where no step raised the log joint density";
  // The error of the evidence is of first order in the error of the mode; one more step squares the latter.
  double step = 1;
  if (out.converged && natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) {
    ++out.iterations;
    out.stationarity = model.stationarity(out.posterior);
    trace.add(out.posterior.elbo, out.stationarity.gap());
  }
  return out;
}

}  // namespace galvi
