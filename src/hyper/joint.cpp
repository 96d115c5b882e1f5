#include "hyper/joint.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "hyper/posterior_numbers.h"
#include "model/held_basis.h"
#include "numeric/lbfgs.h"

namespace galvi {

JointResult optimise_jointly(LatentGaussianModel& model, HyperTable& table, const Posterior& start,
                             const HyperControl& control, int max_iterations, Trace& trace) {
  // The curvature of the bound in a hyperparameter is about N, in q's numbers about 1. In unlike units the
  // first steps would move inducing points onto each other, where they stick.
  const double unit = 1 / std::sqrt(static_cast<double>(model.observations()));
  const HeldBasis held(model);
  const auto numbers = numbers_around(model, start, table.size());
  const Index size = numbers->origin().size(), hypers = table.learned();
  Vector x(size + hypers), lower(x.size()), upper(x.size());
  x << numbers->origin(), table.unconstrained() / unit;
  lower << Vector::Constant(size, -1e10), table.lower() / unit;
  upper << Vector::Constant(size, 1e10), table.upper() / unit;

  JointResult out{start.start(), false, -std::numeric_limits<double>::infinity()};
  Vector slope;  // of minus the objective at the best point
  const Objective objective = [&](const Vector& at, Vector& gradient) {
    table.set_unconstrained(unit * at.tail(hypers));
    Vector in_hypers;
    double bound = -std::numeric_limits<double>::infinity();
    try {
      model.update(table.values());
      bound = numbers->bound(at.head(size), gradient.head(size), in_hypers);
    } catch (const std::domain_error&) {
      // no prior at these hyperparameters: the line search must backtrack
    }
    if (!std::isfinite(bound)) {
      gradient.setZero(at.size());
      return std::numeric_limits<double>::infinity();
    }
    gradient.tail(hypers) = unit * table.chain(in_hypers);
    gradient *= -1;
    const double objective = bound + table.log_prior();
    const bool better = objective > out.objective;
    if (better) {
      out.objective = objective;
      slope = gradient;
      out.start = numbers->start();
    }
    trace.attempt();
    if (better) trace.at(table.values(), out.start, bound);
    trace.add(bound, std::numeric_limits<double>::quiet_NaN());
    trace.judge(objective);
    return -objective;
  };
  LbfgsControl lbfgs;
  lbfgs.max_iterations = max_iterations;
  lbfgs.gradient_tolerance = 0.5 * std::sqrt(control.tol) * unit;
  lbfgs.memory = 40;
  const LbfgsResult result = minimise(objective, x, lower, upper, lbfgs);
  table.set_unconstrained(unit * result.x.tail(hypers));
  out.converged = result.converged;
  if (!out.converged && std::isfinite(out.objective)) {
    // a run may end at rounding level, which the gradient shows
    const Vector projected = (result.x - slope).cwiseMax(lower).cwiseMin(upper) - result.x;
    out.converged = projected.cwiseAbs().maxCoeff() <= 20 * lbfgs.gradient_tolerance;
  }
  return out;
}

}  // namespace galvi
