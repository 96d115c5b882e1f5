#include "inference/fixed_point.h"

#include "inference/anderson.h"
#include "inference/ascent.h"
#include "inference/start.h"

namespace galvi {

namespace {

// Newton's step for m with V held: alpha of V_h (g + h f), where V_h is the posterior covariance with the
// solvers' present sites h. Halved until the bound does not fall. True if it moved.
bool mean_step(LatentGaussianModel& model, const Matrix& h, Posterior& current) {
  const Matrix b = current.expectations.d_mean + h.cwiseProduct(current.centred);
  Matrix target(model.rows(), model.latents());
  for (Index k = 0; k < model.latents(); ++k) target.col(k) = model.solver(k).posterior_mean(b.col(k)).alpha;
  for (double step = 1; step > 1e-6; step *= 0.5) {
    auto next = model.move_mean(current, current.alpha + step * (target - current.alpha), 2);
    if (next && next->merit >= current.merit - rounding(current)) {
      current = std::move(*next);
      return true;
    }
  }
  return false;
}

// V <- T(V) = (Sigma^-1 + W' diag(gamma) W)^-1 with gamma = -2 dE/dv (004, eq. 6 and 8), m held; shortened in
// gamma until the bound does not fall. Where gamma is negative and no step along it raises the bound, it is
// set to zero (004, section 3.1).
bool covariance_step(LatentGaussianModel& model, Posterior& current) {
  const Matrix gamma = -2.0 * current.expectations.d_variance;
  std::vector<Matrix> targets{gamma};
  if (gamma.minCoeff() < 0) targets.push_back(gamma.cwiseMax(0.0));
  for (const Matrix& target : targets) {
    for (double step = 1; step > 1e-6; step *= 0.5) {
      const Matrix lambda = current.sites.lambda + step * (target - current.sites.lambda);
      auto next = model.at_alpha(lambda, current.alpha, 2);
      if (next && next->merit >= current.merit - rounding(current)) {
        current = std::move(*next);
        return true;
      }
    }
  }
  model.restore(current);
  return false;
}

// Records the point; true when there is nothing left to do.
bool finished(LatentGaussianModel& model, const InferenceControl& control, Trace& trace,
              InferenceResult& out) {
  out.stationarity = model.stationarity(out.posterior);
  trace.add(out.posterior.elbo, out.stationarity.gap);
  out.converged = out.stationarity.measure() <= control.tol;
  return out.converged || out.iterations == control.max_iterations;
}

Eigen::Map<const Vector> flat(const Matrix& A) { return {A.data(), A.size()}; }

InferenceResult accelerated(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace) {
  const Index N = model.rows(), K = model.latents(), size = N * K;
  const bool joint = K > 1 || !model.expectation().exact();
  const int order = joint ? 2 : 1;
  InferenceResult out;
  out.posterior = initial_posterior(model, start, order);
  Anderson anderson(5);
  Vector x(2 * size), image(2 * size);
  double step = 1;
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const Sites target = joint ? newton_target(model, out.posterior) : model.natural_target(out.posterior);
    const Sites& sites = out.posterior.sites;
    x << flat(sites.b), flat(sites.lambda);
    image << flat(target.b), flat(target.lambda);
    const Vector guess = anderson.next(x, image);
    Sites next;
    next.b = Eigen::Map<const Matrix>(guess.data(), N, K);
    next.lambda = Eigen::Map<const Matrix>(guess.data() + size, N, K);
    // an extrapolated lambda below a tenth of the plain step's is not to be trusted
    next.lambda = (target.lambda.array() >= 0).select(next.lambda.cwiseMax(0.1 * target.lambda), next.lambda);
    auto candidate = model.at_sites(next, order);
    if (candidate && candidate->merit >= out.posterior.merit - rounding(out.posterior)) {
      out.posterior = std::move(*candidate);
      continue;
    }
    anderson.forget();
    bool moved = natural_step(model, target, step, order, out.posterior);
    if (!moved && joint) {
      // the natural gradient is an ascent direction whatever the bends of the bound
      step = 1;
      moved = natural_step(model, model.natural_target(out.posterior), step, order, out.posterior);
    }
    if (!moved) return out;
    step = std::min(1.0, 2 * step);
  }
  return out;
}

}  // namespace

InferenceResult fixed_point(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace) {
  // Coefficients that all rows share, and classes that compete for one response, make the plain iteration
  // slow; so do bounds, whose lambda is not the curvature in the mean.
  const bool full = model.solver(0).latent_dimension() == model.rows() && model.null_dimension() == 0;
  const bool plain =
      full && model.latents() == 1 && (model.expectation().exact() || !model.expectation().consistent());
  if (!plain) return accelerated(model, start, control, trace);
  InferenceResult out;
  out.posterior = initial_posterior(model, start, 2);
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const bool mean_moved = mean_step(model, out.posterior.sites.lambda, out.posterior);
    const bool covariance_moved = covariance_step(model, out.posterior);
    if (!mean_moved && !covariance_moved) return out;
  }
  return out;
}

InferenceResult fixed_point_batch(LatentGaussianModel& model, const std::optional<Sites>& start,
                                  const InferenceControl& control, Trace& trace) {
  constexpr int inner_iterations = 20;
  InferenceResult out;
  out.posterior = initial_posterior(model, start, 2);
  Posterior& current = out.posterior;
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const double before = current.merit;
    bool moved = false;
    for (int i = 0; i < inner_iterations; ++i) {
      // Newton's matrix for m alone: Sigma^-1 + W' diag(-d^2E/dm^2) W
      Matrix h(model.rows(), model.latents());
      for (Index k = 0; k < model.latents(); ++k)
        h.col(k) = (-current.expectations.d_mm.col(k * (model.latents() + 1))).cwiseMax(0.0);
      bool ready = true;
      for (Index k = 0; k < model.latents(); ++k) ready = model.solver(k).factorise(h.col(k)) && ready;
      const double before_step = current.merit;
      if (!ready || !mean_step(model, h, current)) break;
      moved = true;
      if (current.merit - before_step <= 0.1 * control.tol) break;
    }
    for (int i = 0; i < inner_iterations; ++i) {
      const double before_step = current.merit;
      if (!covariance_step(model, current)) break;
      moved = true;
      if (current.merit - before_step <= 0.1 * control.tol) break;
    }
    if (!moved || current.merit - before < rounding(current)) {
      finished(model, control, trace, out);
      return out;
    }
  }
  return out;
}

}  // namespace galvi
