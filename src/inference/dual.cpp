#include "inference/dual.h"

#include <algorithm>
#include <cmath>

#include "inference/ascent.h"
#include "inference/dual_problem.h"
#include "model/start.h"
#include "numeric/krylov.h"
#include "numeric/lbfgs_memory.h"

namespace galvi {

namespace {

using Map = Eigen::Map<const Matrix>;

double dot(const Matrix& X, const Matrix& Y) { return X.cwiseProduct(Y).sum(); }

// Relative to the dual's value, a sum of terms that nearly cancel.
double rounding(const DualPoint& point) { return 1e-15 * (1.0 + point.magnitude); }

class Search {
 public:
  Search(LatentGaussianModel& model, bool plain)
      : problem_(model),
        plain_(plain),
        variances_(!plain && model.all(&Solver::cheap_products)),
        memory_(variances_ ? 0 : 10) {}

  std::optional<DualPoint> start(const SitePosterior& posterior) {
    return problem_.at(problem_.start(posterior));
  }

  /// The next point; empty if none is lower.
  std::optional<DualPoint> next(const DualPoint& current) {
    auto found = along(current, limited(current, direction(current)));
    if (!found && !memory_.empty()) {
      memory_.clear();
      problem_.at(current.x);  // products need the solvers factorised at this point
      found = along(current, limited(current, direction(current)));
    }
    if (found) memory_.add(flat(found->x - current.x), flat(found->gradient - current.gradient));
    return found;
  }

 private:
  struct Path {
    Matrix direction;
    double slope, first, longest;
  };

  Matrix direction(const DualPoint& current) {
    const Index N = current.x.rows(), K = current.x.cols();
    const auto matrix = [&](const Vector& x) { return Map(x.data(), N, K); };
    const LinearMap scaled = [&](const Vector& x) {
      const Vector along = flat(problem_.tangent(matrix(x)));
      return Vector(along * (memory_.empty() ? 1.0 / along.norm() : memory_.scale()));
    };
    const LinearMap curve = [&](const Vector& x) {
      return flat(problem_.curve(current, matrix(x), variances_));
    };
    const LinearMap precondition = [&](const Vector& x) {
      return flat(problem_.precondition(current, matrix(x), variances_));
    };
    const LinearMap known = [&](const Vector& x) {
      constexpr double tolerance = 0.05;
      constexpr int products = 30;
      return conjugate_gradients(curve, precondition, x, tolerance, products);
    };
    const LinearMap& first = plain_ ? scaled : known;
    const Vector gradient = flat(problem_.tangent(current.gradient));
    Vector out = -memory_.apply(gradient, first);
    if (!(out.dot(gradient) < 0.0)) {
      memory_.clear();
      out = -first(gradient);
    }
    return matrix(out);
  }

  // 001, eq. 26, shortens the whole step to stay inside. Negligible entries would make it very short, so a
  // longer step with those entries stopped is taken as long as it still descends.
  Path limited(const DualPoint& current, const Matrix& direction) const {
    constexpr double enough = 0.1, shortest = 1e-6;
    const double slope = dot(direction, current.gradient), room = problem_.room(current, direction);
    for (double step = 1.0; !plain_ && step > std::max(room, shortest); step *= 0.5) {
      Matrix stopped = problem_.stopped(current, step * direction);
      const double left = dot(stopped, current.gradient);
      if (left < enough * step * slope) return {std::move(stopped), left, 1.0, 1.0};
    }
    return {direction, slope, std::min(1.0, room), room};
  }

  // Armijo's condition and, so that L-BFGS has useful pairs, Wolfe's on the slope, by bracketing.
  std::optional<DualPoint> along(const DualPoint& current, const Path& path) {
    constexpr double armijo = 1e-4, wolfe = 0.9;
    constexpr int trials = 40;
    double step = path.first, low = 0.0, high = infinity;
    std::optional<DualPoint> found;
    for (int i = 0; i < trials; ++i) {
      auto next = problem_.at(current.x + step * path.direction);
      if (next && next->value <= current.value + armijo * step * path.slope + rounding(current)) {
        low = step;
        const bool done =
            variances_ || step >= path.longest || dot(next->gradient, path.direction) >= wolfe * path.slope;
        found = std::move(next);
        if (done) break;
      } else {
        high = step;
        if (found) break;
      }
      step = std::isfinite(high) ? 0.5 * (low + high) : std::min(2.0 * step, path.longest);
    }
    return found;
  }

  DualProblem problem_;
  bool plain_, variances_;  // whether (V o V) / 2 is part of the metric
  LbfgsMemory memory_;
};

}  // namespace

SiteResult dual(LatentGaussianModel& model, const std::optional<Sites>& start,
                const InferenceControl& control, Trace& trace) {
  constexpr int patience = 5, approaches = 5;
  SiteResult out;
  out.posterior = initial_posterior(model, start, 1);
  double gap = infinity;
  Search search(model, control.cold);
  auto current = search.start(out.posterior);
  // Under a wide prior alpha is large where the lambdas are inconsistent; D is then far from the bound, and
  // natural-gradient steps are faster.
  double step = 1.0;
  for (int i = 0; i < approaches && !control.cold && out.iterations < control.max_iterations; ++i) {
    const double far = current ? current->value - out.posterior.elbo : infinity;
    if (far <= static_cast<double>(model.rows() * model.latents())) break;
    gap = std::min(gap, far);
    trace.add(model.hyper(), out.posterior, gap + out.posterior.rounding);
    if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) break;
    ++out.iterations;
    step = std::min(1.0, 2.0 * step);
    current = search.start(out.posterior);
  }
  double last = infinity, of_dual = 0;
  for (int idle = 0; current && idle < patience;) {
    const std::optional<SitePosterior>& here = current->posterior;
    const bool best = here && here->elbo >= out.posterior.elbo;
    if (best) out.posterior = *here;
    // the best bound so far against the dual, which only decreases
    const double now = best ? current->gap : current->value - out.posterior.elbo;
    idle = now < last ? 0 : idle + 1;
    last = now;
    gap = std::min(gap, std::max(now, 0.0));
    of_dual = rounding(*current);
    trace.add(model.hyper(), out.posterior, gap + of_dual + out.posterior.rounding);
    if (gap <= control.tol || out.iterations >= control.max_iterations) break;
    current = search.next(*current);
    ++out.iterations;
  }
  model.restore(out.posterior);
  out.stationarity = model.stationarity(out.posterior);
  out.stationarity.certificate = std::min(out.stationarity.certificate, gap);
  out.stationarity.rounding += of_dual;
  out.converged = out.stationarity.measure() <= control.tol;
  return out;
}

std::string dual_refuses(const LatentGaussianModel& model) {
  const Expectation& expectation = model.expectation();
  const Likelihood& likelihood = model.likelihood();
  if (!expectation.has_conjugate(likelihood) && likelihood.has_fenchel_conjugate() && expectation.exact())
    return "it needs the conjugate of a formula; use expectation = \"closed_form\", the same without "
           "quadrature";
  if (!expectation.has_conjugate(likelihood)) {
    std::string way =
        expectation.consistent() && model.all(&Solver::cheap_products) ? "newton" : "fixed_point";
    const std::string with_conjugate = expectation_with_conjugate(likelihood);
    if (!with_conjugate.empty()) way += ", or expectation = \"" + with_conjugate + "\"";
    return "the dual's minimum lies above the best bound where E log p is not jointly concave in mean and "
           "variance, as with this likelihood and expectation; use " +
           way;
  }
  if (model.null_dimension() > 0)
    return "a flat prior ties the rows' alpha by linear constraints, which its search does not keep; use "
           "fixed_point";
  return "";
}

}  // namespace galvi
