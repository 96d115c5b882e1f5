#include "inference/coordinate_ascent.h"

#include <cmath>

#include "expectation/row_scratch.h"
#include "inference/ascent.h"
#include "model/start.h"

namespace galvi {

namespace {

/// One row's part of the bound as a function of the variance of its latent k (without c, which is added), for
/// a given cavity: the precision of the prior and the other sites. The row's mean is the best one for that
/// variance. Eq. 16 keeps it fixed instead; m and V then wait for each other, which takes twice as many
/// sweeps under wide priors.
class RowProblem {
 public:
  explicit RowProblem(const LatentGaussianModel& model) : model_(model), scratch_(model.latents()) {}

  void begin(const SitePosterior& current, Index n, Index k, double cavity, double extra) {
    scratch_.gather(current.mean, current.variance, n);
    n_ = n;
    k_ = k;
    cavity_ = cavity;
    extra_ = extra;
    mean_ = scratch_.mean[k];
    alpha_ = current.alpha(n, k);
  }

  /// -2 dE/dv and its derivative in v, with the row's weight. Infinite where E overflows.
  std::pair<double, double> target(double v) {
    const double weight = model_.data().weight[n_];
    const RowExpectation& row = scratch_.row;
    const Index kk = k_ * (model_.latents() + 1);
    double& m = scratch_.mean[k_];
    scratch_.variance[k_] = v + extra_;
    double low = -infinity, high = infinity;
    for (int i = 0;; ++i) {
      scratch_.fill(0.0);
      model_.expectation().evaluate_row(model_.likelihood(), model_.data()[n_], scratch_.mean,
                                        scratch_.variance, 2, scratch_.row);
      if (!std::isfinite(row.d_v[k_]) || !std::isfinite(row.d_m[k_])) {
        m = mean_;
        return {infinity, 0};
      }
      // Newton's step to cavity (m - mean) + alpha = dE/dm, inside a bracket; a convex E counts as linear
      const double bend = cavity_ - weight * std::min(row.d_mm[kk], 0.0);
      const double step = (weight * row.d_m[k_] - alpha_ - cavity_ * (m - mean_)) / bend;
      if (i == 60 || std::abs(step) <= 1e-8 * std::sqrt(v)) {
        const double follows = weight * row.d_mv[kk] / bend;  // dm / dv
        return {-2 * weight * row.d_v[k_], -2 * weight * (row.d_vv[kk] + row.d_mv[kk] * follows)};
      }
      (step > 0 ? low : high) = m;
      const double longest = 1 + 2 * std::sqrt(v);
      const double next = m + std::max(-longest, std::min(longest, step));
      m = next > low && next < high ? next : 0.5 * (low + high);
    }
  }

 private:
  const LatentGaussianModel& model_;
  RowScratch scratch_;
  Index n_ = 0, k_ = 0;
  double cavity_ = 0, extra_ = 0, mean_ = 0, alpha_ = 0;
};

// The lambda with lambda = -2 dE/dv at v = 1 / (cavity + lambda), which maximises eq. 16's function of v, log
// v - cavity v + 2 E. Its slope falls in lambda, so a bracket closes in; Newton's steps are taken where they
// stay inside.
double solve_site(RowProblem& problem, double cavity, double lambda) {
  const double least = -cavity * (1 - 1e-10);
  double low = least, high = infinity, at = std::max(lambda, least);
  for (int i = 0; i < 60; ++i) {
    const double v = 1 / (cavity + at);
    const auto [target, slope] = problem.target(v);
    if (std::isinf(target)) {  // too wide
      low = at;
      at = std::isinf(high) ? 2 * std::abs(at) + cavity : 0.5 * (at + high);
      continue;
    }
    const double residual = at - target;
    if (std::abs(residual) <= 1e-10 * (std::abs(at) + cavity)) break;
    (residual < 0 ? low : high) = at;
    // d(lambda - target) / d lambda = 1 + slope v^2
    double next = at - residual / (1 + slope * v * v);
    if (!(next > low && next < high)) next = std::isinf(high) ? target : 0.5 * (low + high);
    if (std::abs(next - at) <= 1e-14 * (std::abs(at) + cavity)) break;
    at = next;
  }
  return at;
}

// 000, Algorithm 1, step 2(a).
Matrix sweep(LatentGaussianModel& model, const SitePosterior& current) {
  Matrix lambda = current.sites.lambda;
  RowProblem problem(model);
  for (Index k = 0; k < model.latents(); ++k) {
    const Vector& extra = model.solver(k).extra_variances();
    model.solver(k).sweep([&](Index n, double v) {
      // k~22 = 1 / v22 - lambda: the precision that the other sites and the prior give
      const double cavity = 1 / v - lambda(n, k), before = lambda(n, k);
      if (!(cavity > 0)) return 0.0;
      problem.begin(current, n, k, cavity, extra.size() > 0 ? extra[n] : 0.0);
      lambda(n, k) = model.data().weight[n] == 0 ? 0.0 : solve_site(problem, cavity, before);
      return lambda(n, k) - before;
    });
  }
  return lambda;
}

// A natural-gradient step, which raises the bound whatever its curvature. True if it moved.
bool ascend(LatentGaussianModel& model, SitePosterior& current) {
  double step = 1;
  return natural_step(model, model.natural_target(current), step, 2, current);
}

}  // namespace

SiteResult coordinate_ascent(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace) {
  SiteResult out;
  out.posterior = initial_posterior(model, start, 2);
  SitePosterior& current = out.posterior;
  // Step 1 sets V to Sigma and m to mu; starting from sites of the data saves one or two sweeps.
  if (!start) ascend(model, current);
  settle_mean(model, control.tol, current);
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    const SitePosterior before = current;
    // one factorisation per sweep, so that the rounding errors of N updates do not accumulate
    if (auto next = model.at_covariance(sweep(model, current), current, 2)) {
      current = std::move(*next);
      settle_mean(model, control.tol, current);  // step 2(b), eq. 21
      if (current.holds_after(before)) continue;
      current = before;
    }
    model.restore(current);
    if (!ascend(model, current)) return out;
    settle_mean(model, control.tol, current);
  }
  return out;
}

}  // namespace galvi
