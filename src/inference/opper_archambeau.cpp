#include "inference/opper_archambeau.h"

#include <cmath>
#include <limits>

#include "inference/ascent.h"
#include "inference/coordinates.h"
#include "inference/start.h"
#include "numeric/lbfgs.h"

namespace galvi {

InferenceResult opper_archambeau(LatentGaussianModel& model, const std::optional<Sites>& start,
                                 const InferenceControl& control, Trace& trace) {
  constexpr int warming_steps = 3;
  InferenceResult out;
  out.posterior = initial_posterior(model, start, 1);
  std::unique_ptr<Coordinates> coordinates;
  if (control.cold) {
    coordinates = std::make_unique<RawCoordinates>(out.posterior);
  } else {
    double step = 1;
    for (int i = 0; i < warming_steps; ++i, step = std::min(1.0, 2 * step))
      if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) break;
    coordinates = std::make_unique<NaturalCoordinates>(out.posterior, model.lambda_floor());
  }

  const Objective objective = [&](const Vector& x, Vector& gradient) {
    auto q = coordinates->at(model, x);
    if (!q) {
      gradient.setZero(x.size());
      return std::numeric_limits<double>::infinity();
    }
    gradient = -coordinates->gradient(model, *q);
    ++out.iterations;
    const Stationarity stationarity = model.stationarity(*q);
    const double value = -q->elbo;
    if (q->elbo >= out.posterior.elbo) {
      out.posterior = std::move(*q);
      out.stationarity = stationarity;
      trace.add(out.posterior.elbo, stationarity.gap);
      if (stationarity.measure() <= control.tol) throw Enough{};
    }
    return value;
  };
  LbfgsControl lbfgs;
  lbfgs.max_iterations = control.max_iterations;
  lbfgs.gradient_tolerance = 1e-12;
  lbfgs.memory = 20;
  minimise(objective, coordinates->origin(), {}, {}, lbfgs);
  model.restore(out.posterior);
  out.stationarity = model.stationarity(out.posterior);
  trace.add(out.posterior.elbo, out.stationarity.gap);
  out.converged = out.stationarity.measure() <= control.tol;
  return out;
}

}  // namespace galvi
