#include "hyper/joint.h"

#include <cmath>
#include <limits>

#include "inference/coordinates.h"
#include "numeric/lbfgs.h"

namespace galvi {

JointResult optimise_jointly(LatentGaussianModel& model, HyperTable& table, const Posterior& start,
                             const HyperControl& control, Trace& trace) {
  const NaturalCoordinates coordinates(start, model.lambda_floor());
  const Index sites = coordinates.origin().size(), hypers = table.learned();
  Vector x(sites + hypers), lower(x.size()), upper(x.size());
  x << coordinates.origin(), table.unconstrained();
  lower << Vector::Constant(sites, -1e10), table.lower();
  upper << Vector::Constant(sites, 1e10), table.upper();

  JointResult out{start.sites, false};
  double best = -std::numeric_limits<double>::infinity();
  const Objective objective = [&](const Vector& at, Vector& gradient) {
    table.set_unconstrained(at.tail(hypers));
    model.update(table.values());
    auto q = coordinates.at(model, at.head(sites));
    if (!q) {
      gradient.setZero(at.size());
      return std::numeric_limits<double>::infinity();
    }
    gradient << -coordinates.gradient(model, *q), -table.chain(model.gradient(*q, table.size(), false));
    const double objective = q->elbo + table.log_prior();
    trace.add(q->elbo, std::numeric_limits<double>::quiet_NaN());
    if (objective > best) {
      best = objective;
      out.sites = q->sites;
    }
    return -objective;
  };
  LbfgsControl lbfgs;
  lbfgs.max_iterations = 10 * control.max_iterations;  // many cheap steps instead of few inferences
  lbfgs.gradient_tolerance = 0.5 * std::sqrt(control.tol);
  lbfgs.memory = 20;
  const LbfgsResult result = minimise(objective, x, lower, upper, lbfgs);
  table.set_unconstrained(result.x.tail(hypers));
  out.converged = result.converged;
  return out;
}

}  // namespace galvi
