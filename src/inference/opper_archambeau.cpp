#include "inference/opper_archambeau.h"

#include <algorithm>
#include <limits>

#include "inference/ascent.h"
#include "inference/coordinates.h"
#include "model/start.h"
#include "numeric/lbfgs.h"
#include "numeric/lbfgs_memory.h"

namespace galvi {

namespace {

// From a cold start in (alpha, lambda), by a line search in them.
SiteResult cold(LatentGaussianModel& model, const std::optional<Sites>& start,
                const InferenceControl& control, Trace& trace) {
  SiteResult out;
  out.posterior = initial_posterior(model, start, 1);
  const RawCoordinates coordinates(out.posterior);
  const Objective objective = [&](const Vector& x, Vector& gradient) {
    auto q = coordinates.at(model, x);
    if (!q) {
      gradient.setZero(x.size());
      return std::numeric_limits<double>::infinity();
    }
    gradient = -coordinates.gradient(model, *q);
    ++out.iterations;
    const Stationarity stationarity = model.stationarity(*q);
    const double value = -q->elbo;
    if (q->elbo >= out.posterior.elbo) {
      out.posterior = std::move(*q);
      out.stationarity = stationarity;
      trace.add(model.hyper(), out.posterior, stationarity.gap());
      if (stationarity.measure() <= control.tol) throw Enough{};
    }
    return value;
  };
  LbfgsControl lbfgs;
  lbfgs.max_iterations = control.max_iterations;
  lbfgs.gradient_tolerance = 1e-12;
  lbfgs.memory = 20;
  const Vector origin = coordinates.origin();
  Vector lower = Vector::Constant(origin.size(), -infinity);
  lower.tail(origin.size() / 2).setZero();  // lambda
  minimise(objective, origin, lower, Vector::Constant(origin.size(), infinity), lbfgs);
  model.restore(out.posterior);
  finished(model, control, trace, out);
  return out;
}

// Minus the bound's gradient in (b, lambda), and minus the natural gradient, the inverse Fisher information
// times the gradient, which points to the target.
Vector slope_at(LatentGaussianModel& model, const SitePosterior& q) {
  const Expectations& e = q.expectations;
  const Matrix d_b = model.product(&Solver::apply_covariance, e.d_mean - q.alpha);
  const Matrix d_lambda =
      -model.product(&Solver::apply_squared_covariance, 0.5 * q.sites.lambda + e.d_variance) -
      d_b.cwiseProduct(q.centred);
  const Sites target = model.natural_target(q);
  Vector out(4 * d_b.size());
  out << -flat(d_b), -flat(d_lambda), flat(q.sites.b - target.b), flat(q.sites.lambda - target.lambda);
  return out;
}

}  // namespace

SiteResult opper_archambeau(LatentGaussianModel& model, const std::optional<Sites>& start,
                            const InferenceControl& control, Trace& trace) {
  if (control.cold) return cold(model, start, control, trace);
  constexpr int pairs = 30;
  const Index N = model.rows(), K = model.latents(), half = 2 * N * K;
  // The memory's vectors contain gradients twice, as slope_at() does; steps, which products are taken with,
  // have zeros there. So the initial curvature need not be a matrix.
  const auto padded = [half](const Vector& x) {
    Vector out = Vector::Zero(2 * half);
    out.head(half) = x;
    return out;
  };
  const LinearMap natural = [&](const Vector& x) { return padded(x.tail(half)); };

  SiteResult out;
  SitePosterior& q = out.posterior;
  q = initial_posterior(model, start, 1);
  LbfgsMemory memory(pairs);
  Vector slope = slope_at(model, q);
  double step = 1;
  while (!finished(model, control, trace, out)) {
    ++out.iterations;
    Vector along = -memory.apply(slope, natural);
    if (!(along.dot(slope) < 0)) {
      memory.clear();
      along = -natural(slope);
    }
    const Sites from = q.sites;
    Sites to{from.lambda + Eigen::Map<const Matrix>(along.data() + N * K, N, K),
             from.b + Eigen::Map<const Matrix>(along.data(), N, K)};
    to.lambda = to.lambda.cwiseMax(0.1 * from.lambda);  // lambda stays positive
    if (!natural_step(model, to, step, 1, q)) {
      if (memory.empty()) return out;
      memory.clear();
      step = 1;
      continue;
    }
    step = std::min(1.0, 2 * step);
    const Vector next = slope_at(model, q);
    Vector moved(half);
    moved << flat(q.sites.b - from.b), flat(q.sites.lambda - from.lambda);
    memory.add(padded(moved), next - slope);
    slope = next;
  }
  return out;
}

}  // namespace galvi
