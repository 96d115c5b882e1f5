#include "inference/ascent.h"

#include "inference/anderson.h"
#include "model/start.h"
#include "numeric/krylov.h"

namespace galvi {

namespace {

// N x K each; centred = V b
struct SiteMeans {
  Matrix b, centred;
};

// With D the K x K blocks d^2E/dm^2 and f' = f + V d, d the change of b at the current lambda, alpha = b + d
// - lambda f' must equal dE/dm + D V d:   (I - (D + Lambda) V) d = dE/dm - alpha.
SiteMeans newton_means(LatentGaussianModel& model, const SitePosterior& posterior) {
  constexpr double tolerance = 1e-3;
  constexpr int products = 30;
  using Map = Eigen::Map<const Matrix>;
  const Index N = model.rows(), K = model.latents();
  const Expectations& e = posterior.expectations;
  const Matrix& lambda = posterior.sites.lambda;
  const Matrix scale = posterior.variance.cwiseSqrt();
  const auto apply_covariance = [&](const Matrix& x) { return model.product(&Solver::apply_covariance, x); };
  const LinearMap system = [&](const Vector& x) {
    const Matrix d = Map(x.data(), N, K).cwiseQuotient(scale), f = apply_covariance(d);
    Matrix out = d - lambda.cwiseProduct(f);
    for (Index l = 0; l < K; ++l)
      for (Index k = 0; k < K; ++k) out.col(k) -= e.d_mm.col(l * K + k).cwiseProduct(f.col(l));
    out.array() *= scale.array();
    return Vector(Map(out.data(), N * K, 1));
  };
  const Matrix residual = scale.cwiseProduct(e.d_mean - posterior.alpha);
  const Vector solution = gmres(
      system, [](const Vector& x) { return x; }, Map(residual.data(), N * K, 1), tolerance, products);
  const Matrix d = Map(solution.data(), N, K).cwiseQuotient(scale);
  return {posterior.sites.b + d, posterior.centred + apply_covariance(d)};
}

// Moves towards the mean V b by a step that is halved until the bound does not fall. True if it moved.
bool move_mean(LatentGaussianModel& model, const Matrix& b, SitePosterior& current) {
  const Matrix way = b - current.sites.b;
  for (double step = 1; step > 1e-6; step *= 0.5) {
    auto next = model.move_mean(current, current.sites.b + step * way, 2);
    if (holds(next, current)) {
      current = std::move(*next);
      return true;
    }
  }
  return false;
}

}  // namespace

bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order,
                  SitePosterior& current) {
  constexpr double smallest = 1e-6;
  for (; step >= smallest; step *= 0.5) {
    const Sites sites{(1 - step) * current.sites.lambda + step * target.lambda,
                      (1 - step) * current.sites.b + step * target.b};
    auto next = model.at_sites(sites, order);
    if (holds(next, current)) {
      current = std::move(*next);
      return true;
    }
  }
  model.restore(current);
  return false;
}

bool mean_step(LatentGaussianModel& model, SitePosterior& current) {
  return move_mean(model, current.expectations.d_mean + current.sites.lambda.cwiseProduct(current.centred),
                   current);
}

bool settle_mean(LatentGaussianModel& model, double tol, SitePosterior& current) {
  constexpr int most = 30;
  bool moved = false;
  for (int i = 0; i < most; ++i) {
    const double before = current.merit;
    // where the log likelihood is not concave, Newton's direction may be a descent direction
    const bool stepped =
        move_mean(model, newton_means(model, current).b, current) || mean_step(model, current);
    moved = moved || stepped;
    if (!stepped || current.merit - before <= 0.1 * tol) break;
  }
  return moved;
}

Sites newton_target(LatentGaussianModel& model, const SitePosterior& posterior) {
  const SiteMeans means = newton_means(model, posterior);
  Sites target;
  target.lambda = -2.0 * posterior.expectations.d_variance;
  target.b = means.b + (target.lambda - posterior.sites.lambda).cwiseProduct(means.centred);
  return target;
}

bool finished(LatentGaussianModel& model, const InferenceControl& control, Trace& trace, SiteResult& out) {
  out.stationarity = model.stationarity(out.posterior, control.certified);
  trace.add(model.hyper(), out.posterior, out.stationarity.gap());
  out.converged = out.stationarity.measure() <= control.tol;
  return out.converged || out.iterations == control.max_iterations;
}

SiteResult climb(LatentGaussianModel& model, const std::optional<Sites>& start,
                 const InferenceControl& control, Trace& trace, const Climb& how) {
  const Index N = model.rows(), K = model.latents(), size = N * K;
  const int order = how.joint ? 2 : 1;
  constexpr Index many = 200000;  // numbers, of which each point keeps twice as many
  SiteResult out;
  out.posterior = initial_posterior(model, start, order);
  Anderson anderson(how.memory.value_or(2 * size <= many ? 10 : 3));
  Vector x(2 * size), residual(2 * size), scale(2 * size);
  double step = 1;
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const Sites target =
        how.joint ? newton_target(model, out.posterior) : model.natural_target(out.posterior);
    const Sites& sites = out.posterior.sites;
    const Matrix sd = out.posterior.variance.cwiseSqrt().cwiseMax(1e-300);
    x << flat(sites.b), flat(sites.lambda);
    residual << flat(target.b), flat(target.lambda);
    residual -= x;
    scale << flat(sd).cwiseInverse(), flat(sd).cwiseAbs2().cwiseInverse();
    const Vector guess = anderson.next(x, residual, scale, step);
    Sites next;
    next.b = Eigen::Map<const Matrix>(guess.data(), N, K);
    next.lambda = Eigen::Map<const Matrix>(guess.data() + size, N, K);
    // an extrapolated lambda below a tenth of the plain step's is not trusted
    next.lambda = (target.lambda.array() >= 0).select(next.lambda.cwiseMax(0.1 * target.lambda), next.lambda);
    auto candidate = model.at_sites(next, order);
    if (holds(candidate, out.posterior)) {
      out.posterior = std::move(*candidate);
      step = std::min(1.0, 2 * step);
      continue;
    }
    bool moved = natural_step(model, target, step, order, out.posterior);
    if (!moved && how.joint) {
      // the natural gradient is an ascent direction whatever the curvature of the bound
      step = 1;
      moved = natural_step(model, model.natural_target(out.posterior), step, order, out.posterior);
    }
    if (!moved) return out;
    step = std::min(1.0, 2 * step);
  }
  return out;
}

}  // namespace galvi
