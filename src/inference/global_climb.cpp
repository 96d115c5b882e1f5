#include "inference/global_climb.h"

#include <cmath>
#include <stdexcept>

#include "global/coupled.h"
#include "inference/anderson.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

/// Means and precisions of all predictors.
struct Natural {
  std::vector<Vector> mean;
  std::vector<Matrix> precision;
};

/// Newton's step for the means of all predictors, with fixed precisions. Empty where the bound is not
/// concave.
std::vector<Vector> newton_direction(GlobalModel& model, const GlobalPoint& point, const GlobalStep& way) {
  Matrix A = newton_matrix(model, point);
  Vector r(A.rows());
  Index at = 0;
  for (const Vector& slope : way.slope) {
    r.segment(at, slope.size()) = slope;
    at += slope.size();
  }
  std::vector<Vector> out;
  if (!cholesky(model.model().context(), A)) return out;
  Matrix x = r;
  solve_lower(model.model().context(), A, x);
  solve_lower_transposed(model.model().context(), A, x);
  at = 0;
  for (const Vector& slope : way.slope) {
    out.push_back(x.col(0).segment(at, slope.size()));
    at += slope.size();
  }
  return out;
}

std::optional<GlobalPosterior> newton_step(GlobalModel& model, const GlobalPoint& point,
                                           const GlobalStep& way, const std::vector<Vector>& direction,
                                           double step) {
  Natural to;
  for (std::size_t k = 0; k < direction.size(); ++k) {
    to.mean.push_back(point.q[k].mean + step * direction[k]);
    to.precision.push_back(point.q[k].precision + step * way.change[k]);
  }
  return model.posterior(to.mean, to.precision);
}

Index triangle(Index L) { return L * (L + 1) / 2; }

/// Anderson acceleration in means and precisions.
class Acceleration {
 public:
  explicit Acceleration(const GlobalPosterior& q) : anderson_(memory_for(q)) {}

  /// The accelerated point from q, where `plain` is the end of a plain step of that length.
  Natural next(const GlobalPosterior& q, const GlobalPosterior& plain, double step) {
    const Vector x = numbers(q);
    Vector scale(x.size());
    double* at = scale.data();
    for (const LatentPosterior& part : q) {
      const Vector sd = part.variances().cwiseSqrt();
      at = std::copy_n(sd.data(), sd.size(), at);
      for (Index j = 0; j < sd.size(); ++j)
        for (Index i = j; i < sd.size(); ++i) *at++ = (i == j ? 1.4 : 1.0) / (sd[i] * sd[j]);
    }
    const Vector guess = anderson_.next(x, (numbers(plain) - x) / step, scale, step);
    Natural out;
    const double* from = guess.data();
    for (const LatentPosterior& part : q) {
      const Index L = part.mean.size();
      out.mean.push_back(Eigen::Map<const Vector>(from, L));
      from += L;
      Matrix A(L, L);
      for (Index j = 0; j < L; ++j, from += L - j + 1) std::copy_n(from, L - j, A.col(j).data() + j);
      fill_upper(A);
      out.precision.push_back(std::move(A));
    }
    return out;
  }

 private:
  static Index size(const GlobalPosterior& q) {
    Index out = 0;
    for (const LatentPosterior& part : q) out += part.mean.size() + triangle(part.mean.size());
    return out;
  }
  // ten points, as far as they fit into 30 MB
  static std::size_t memory_for(const GlobalPosterior& q) {
    return static_cast<std::size_t>(std::clamp<Index>(2000000 / std::max<Index>(size(q), 1), 2, 10));
  }
  static Vector numbers(const GlobalPosterior& q) {
    Vector out(size(q));
    double* at = out.data();
    for (const LatentPosterior& part : q) {
      const Index L = part.mean.size();
      at = std::copy_n(part.mean.data(), L, at);
      for (Index j = 0; j < L; ++j) at = std::copy_n(part.precision.col(j).data() + j, L - j, at);
    }
    return out;
  }

  Anderson anderson_;
};

/// An extrapolated point may have no posterior for flat columns: it is rejected like any other bad proposal.
std::optional<GlobalPosterior> posterior_if_any(GlobalModel& model, const Natural& guess) {
  try {
    return model.posterior(guess.mean, guess.precision);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<GlobalPosterior> natural_step(const GlobalModel& model, const GlobalPoint& point,
                                            const GlobalStep& way, double step) {
  GlobalPosterior out;
  for (std::size_t k = 0; k < point.q.size(); ++k) {
    auto part = make_latent_posterior(model.model().context(), model.prior(k), point.q[k].mean,
                                      point.q[k].precision + step * way.change[k]);
    if (!part) return std::nullopt;
    part->mean += step * part->solve(way.slope[k]);
    out.push_back(std::move(*part));
  }
  return out;
}

SumsResult global_climb(GlobalModel model, GlobalPoint point, const InferenceControl& control, Trace& trace,
                        bool joint) {
  constexpr double smallest = 1e-6;
  constexpr double slow = 0.25;  // relative to the last step's norm: many rows make steps faster
  SumsResult out;
  Acceleration acceleration(point.q);
  double reached = point.elbo, step = 1, before = 0;
  bool accelerated = false;
  const auto holds = [&](const std::optional<GlobalPoint>& next) {
    if (!next) return false;
    return next->elbo >= reached - allowed_fall(point.rounding, point.elbo);
  };
  for (;;) {
    const GlobalStep way = model.step_from(point);
    out.stationarity = way.stationarity;
    trace.at(model.model().hyper(), start_at(point.q), point.elbo);
    trace.add(point.elbo, out.stationarity.gap());
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) break;
    ++out.iterations;
    accelerated = accelerated || step < 1 || (before > 0 && way.stationarity.norm > slow * before);
    before = way.stationarity.norm;

    const std::vector<Vector> direction =
        joint ? newton_direction(model, point, way) : std::vector<Vector>();
    const auto plain = [&](double length) {
      return direction.empty() ? natural_step(model, point, way, length)
                               : newton_step(model, point, way, direction, length);
    };
    auto q = plain(step);
    std::optional<GlobalPoint> next;
    if (q && accelerated) {
      const Natural guess = acceleration.next(point.q, *q, step);
      next = model.at(posterior_if_any(model, guess), joint);
    }
    const double tried = step;
    if (!holds(next)) {
      next = model.at(std::move(q), joint);
      while (!holds(next) && (step *= 0.5) >= smallest) next = model.at(plain(step), joint);
      if (!holds(next) && !direction.empty()) {
        // the natural gradient is an ascent direction whatever the curvature of the bound
        for (step = 1; !holds(next) && step >= smallest; step *= 0.5)
          next = model.at(natural_step(model, point, way, step), joint);
      }
      if (!holds(next)) break;
    }
    if (step == tried) step = std::min(1.0, 2 * step);
    reached = std::max(reached, next->elbo);
    point = std::move(*next);
  }
  out.posterior = model.as_posterior(point);
  return out;
}

}  // namespace galvi
