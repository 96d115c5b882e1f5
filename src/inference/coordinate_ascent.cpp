#include "inference/coordinate_ascent.h"

#include <cmath>

#include "expectation/row_scratch.h"
#include "inference/ascent.h"
#include "inference/start.h"

namespace galvi {

namespace {

/// One row's expectation as a function of one of its variances.
class RowProblem {
 public:
  explicit RowProblem(const LatentGaussianModel& model) : model_(model), scratch_(model.latents()) {}

  /// -2 dE/dv and its derivative in v, with the row's weight, at variance v of latent k.
  std::pair<double, double> target(const Posterior& current, Index n, Index k, double v) {
    const double weight = model_.data().weight[n];
    if (weight == 0) return {0, 0};
    scratch_.fill(0.0);
    scratch_.gather(current.mean, current.variance, n);
    scratch_.variance[k] = v;
    const RowExpectation& row = scratch_.row;
    model_.expectation().evaluate_row(model_.likelihood(), model_.data()[n], scratch_.mean, scratch_.variance,
                                      2, scratch_.row);
    return {-2 * weight * row.d_v[k], -2 * weight * row.d_vv[k * (model_.latents() + 1)]};
  }

 private:
  const LatentGaussianModel& model_;
  RowScratch scratch_;
};

// The lambda with lambda = -2 dE/dv at v = 1 / (cavity + lambda): where eq. 16's function of v, log v -
// cavity v + 2 E, is largest. Its slope falls in lambda, so a bracket closes in; Newton's steps where they
// stay inside.
double solve_site(RowProblem& problem, const Posterior& current, Index n, Index k, double cavity,
                  double lambda) {
  const double least = -cavity * (1 - 1e-10);
  double low = least, high = infinity, at = std::max(lambda, least);
  for (int i = 0; i < 60; ++i) {
    const double v = 1 / (cavity + at);
    const auto [target, slope] = problem.target(current, n, k, v);
    if (!std::isfinite(target)) {  // too wide: E overflows
      low = at;
      at = std::isinf(high) ? 2 * std::abs(at) + cavity : 0.5 * (at + high);
      continue;
    }
    const double residual = at - target;
    if (std::abs(residual) <= 1e-12 * (std::abs(at) + cavity)) break;
    (residual < 0 ? low : high) = at;
    // d(lambda - target) / d lambda = 1 + slope v^2
    double next = at - residual / (1 + slope * v * v);
    if (!(next > low && next < high)) next = std::isinf(high) ? target : 0.5 * (low + high);
    if (std::abs(next - at) <= 1e-14 * (std::abs(at) + cavity)) break;
    at = next;
  }
  return at;
}

// 000, Algorithm 1, step 2(a), for one latent vector.
Matrix sweep(LatentGaussianModel& model, const Posterior& current) {
  Matrix lambda = current.sites.lambda;
  RowProblem problem(model);
  for (Index k = 0; k < model.latents(); ++k) {
    const Vector& extra = model.solver(k).extra_variances();
    model.solver(k).sweep([&](Index n, double v) {
      // k~22 = 1 / v22 - lambda: the precision that the other sites and the prior give; c_n comes on top of v
      const double cavity = 1 / v - lambda(n, k);
      if (!(cavity > 0) || extra.size() > 0) return 0.0;
      const double next = solve_site(problem, current, n, k, cavity, lambda(n, k)),
                   change = next - lambda(n, k);
      lambda(n, k) = next;
      return change;
    });
  }
  return lambda;
}

// Step 2(b): m for this V by Newton's method, halved until the bound does not fall. True if it moved.
bool settle_mean(LatentGaussianModel& model, const InferenceControl& control, Posterior& current) {
  constexpr int most = 30;
  bool moved = false;
  for (int i = 0; i < most; ++i) {
    const Matrix alpha = newton_alpha(model, current), from = current.alpha;
    const double before = current.elbo;
    bool step_taken = false;
    for (double step = 1; step > 1e-6 && !step_taken; step *= 0.5) {
      auto next = model.move_mean(current, from + step * (alpha - from), 2);
      if (next && next->elbo >= current.elbo - rounding(current)) {
        current = std::move(*next);
        step_taken = true;
      }
    }
    moved = moved || step_taken;
    if (!step_taken || current.elbo - before <= 0.1 * control.tol) break;
  }
  return moved;
}

}  // namespace

InferenceResult coordinate_ascent(LatentGaussianModel& model, const std::optional<Sites>& start,
                                  const InferenceControl& control, Trace& trace) {
  InferenceResult out;
  // Step 1: V <- Sigma, m <- mu
  const Matrix none = Matrix::Zero(model.rows(), model.latents());
  out.posterior = initial_posterior(model, start ? *start : Sites{none, none}, 2);
  Posterior& current = out.posterior;
  for (;;) {
    out.stationarity = model.stationarity(current);
    trace.add(current.elbo, out.stationarity.gap);
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) return out;
    ++out.iterations;
    const Matrix lambda = sweep(model, current);
    // one factorisation a sweep, so that the rounding of N updates does not add up
    auto next = model.at_alpha(lambda, current.alpha, 2);
    const bool swept = next && next->elbo >= current.elbo - rounding(current);
    if (swept)
      current = std::move(*next);
    else
      model.restore(current);
    const bool moved = settle_mean(model, control, current);
    if (!swept && !moved) return out;
  }
}

}  // namespace galvi
