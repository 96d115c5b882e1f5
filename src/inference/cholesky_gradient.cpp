#include "inference/cholesky_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "global/numbers.h"
#include "inference/ascent.h"
#include "inference/free_form.h"
#include "inference/global_climb.h"
#include "model/start.h"
#include "numeric/lbfgs.h"

namespace galvi {

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

/// The free-form q of all latents.
class FactorClimber {
 public:
  FactorClimber(LatentGaussianModel& model, const SitePosterior& start) : model_(model) {
    for (Index k = 0; k < model.latents(); ++k)
      parts_.emplace_back(model.context(), model.solver(k), start.sites.lambda.col(k), start.sites.b.col(k));
  }

  Vector numbers() const {
    Index size = 0;
    for (const FreeForm& part : parts_) size += part.size();
    Vector x(size);
    double* at = x.data();
    for (const FreeForm& part : parts_) {
      part.write(at);
      at += part.size();
    }
    return x;
  }
  void rebase(const Vector& x) {
    read(x);
    for (FreeForm& part : parts_) part.rebase();
  }

  /// The bound at x (minus infinity where there is none), its gradient, and the squared norm of the gradient
  /// in (u, S).
  double bound(const Vector& x, Vector& gradient, double& squared_norm) {
    const Index N = model_.rows(), K = model_.latents();
    read(x);
    centred_.resize(N, K);
    Matrix variance(N, K);
    double kl = 0;
    for (Index k = 0; k < K; ++k) {
      centred_.col(k) = parts_[k].mean();
      variance.col(k) = parts_[k].variance();
      kl += parts_[k].kl();
    }
    if (!std::isfinite(kl) || !centred_.allFinite() || !variance.allFinite()) return none;
    model_.expect(model_.prior_mean() + centred_, variance, 1, expectations_);
    const Expectations& e = expectations_;
    const double value = e.value.sum() - kl;
    if (!std::isfinite(value) || !e.d_mean.allFinite() || !e.d_variance.allFinite()) return none;
    squared_norm = 0;
    double* at = gradient.data();
    for (Index k = 0; k < K; ++k) {
      squared_norm += parts_[k].write_gradient(e.d_mean.col(k), e.d_variance.col(k), at);
      at += parts_[k].size();
    }
    return value;
  }

  /// For the q that bound() saw last.
  Sites read_off() const {
    Sites sites;
    sites.lambda = -2.0 * expectations_.d_variance;
    sites.b = expectations_.d_mean + sites.lambda.cwiseProduct(centred_);
    return sites;
  }

 private:
  void read(const Vector& x) {
    const double* at = x.data();
    for (FreeForm& part : parts_) {
      part.read(at);
      at += part.size();
    }
  }

  LatentGaussianModel& model_;
  std::vector<FreeForm> parts_;
  Expectations expectations_;
  Matrix centred_;
};

// The settings of L-BFGS, and how it restarts from its best point in new units.
LbfgsControl search_control(Index numbers) {
  LbfgsControl out;
  out.gradient_tolerance = 1e-13;
  // wide priors need a long memory, of up to about 30 MB
  out.memory = static_cast<int>(std::clamp<Index>(2000000 / numbers, 20, 100));
  return out;
}
int round_length(const LbfgsControl& lbfgs) { return std::max(60, lbfgs.memory); }
bool stalled(double best, double before) { return best - before <= 1e-13 * (1 + std::abs(best)); }

constexpr int warming_steps = 3;

}  // namespace

SiteResult cholesky_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                             const InferenceControl& control, Trace& trace) {
  SiteResult out;
  const Matrix zero = Matrix::Zero(model.rows(), model.latents());
  out.posterior = initial_posterior(model, control.cold && !start ? Sites{zero, zero} : start, 1);
  if (!control.cold) {
    double step = 1;
    for (int i = 0; i < warming_steps; ++i, step = std::min(1.0, 2 * step))
      if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) break;
  }
  const auto judge = [&] {
    out.stationarity = model.stationarity(out.posterior);
    out.converged = out.stationarity.measure() <= control.tol;
  };
  judge();
  trace.add(model.hyper(), out.posterior, out.stationarity.gap());
  if (out.converged) return out;

  const bool certified = !std::isnan(out.stationarity.certificate);
  Sites best_sites = out.posterior.sites;
  // the last bound in the trace, which its next entry must not be below
  double best = out.posterior.elbo, promising = control.tol;
  FactorClimber climber(model, out.posterior);
  const Objective objective = [&](const Vector& x, Vector& gradient) {
    double squared_norm;
    ++out.iterations;
    const double value = climber.bound(x, gradient, squared_norm);
    if (value == none) {
      gradient.setZero(x.size());
      return -none;
    }
    gradient *= -1;
    if (value < best) return -value;
    best = value;
    best_sites = climber.read_off();
    const double gap = 0.5 * squared_norm;
    trace.at(model.hyper(), best_sites, value);
    trace.add(value, certified ? gap + out.posterior.rounding : std::numeric_limits<double>::quiet_NaN());
    if (gap <= promising) {
      promising = 0.1 * gap;
      auto posterior = model.at_sites(best_sites, 1);
      if (posterior && posterior->elbo >= value - posterior->slack()) {
        out.posterior = std::move(*posterior);
        judge();
        if (out.converged) throw Enough{};
      }
    }
    return -value;
  };
  Vector x = climber.numbers();
  LbfgsControl lbfgs = search_control(x.size());
  for (double before = none; out.iterations < control.max_iterations; before = best) {
    if (!control.cold) {
      climber.rebase(x);
      x = climber.numbers();
    }
    const int left = control.max_iterations - out.iterations;
    lbfgs.max_iterations = control.cold ? left : std::min(round_length(lbfgs), left);
    x = minimise(objective, x, {}, {}, lbfgs).x;
    if (out.converged || control.cold || stalled(best, before)) break;
  }

  if (!out.converged) {
    // Where the search stopped early, one fixed-point step from the best q may end below its bound. It is
    // then shortened, and further steps follow until the bound is no lower; close to the optimum, until they
    // converge.
    constexpr int most = 100;
    const double near = 100 * control.tol;
    model.restore(out.posterior);
    double step = 1;
    if (natural_step(model, best_sites, step, 1, out.posterior)) judge();
    const auto on_the_way = [&] {
      return out.posterior.elbo < best - out.posterior.slack() || out.stationarity.measure() <= near;
    };
    for (int i = 0; i < most && !out.converged && on_the_way(); ++i) {
      step = 1;
      if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) break;
      judge();
    }
  }
  model.restore(out.posterior);
  trace.add(model.hyper(), out.posterior, out.stationarity.gap());
  return out;
}

SumsResult cholesky_gradient_by_sums(GlobalModel model, const std::optional<Start>& start,
                                     const InferenceControl& control, Trace& trace) {
  SumsResult out;
  const bool cold = control.cold && !start;
  const Matrix zero = Matrix::Zero(cold ? model.model().rows() : 0, model.model().latents());
  GlobalPoint best = model.start(cold ? Start(Sites{zero, zero}) : start);
  const auto judge = [&] {
    out.stationarity = model.step_from(best).stationarity;
    out.converged = out.stationarity.measure() <= control.tol;
    trace.at(model.model().hyper(), start_at(best.q), best.elbo);
    trace.add(best.elbo, out.stationarity.gap());
  };
  for (int i = 0; i < warming_steps && !control.cold; ++i) {
    auto next = model.at(natural_step(model, best, model.step_from(best), 1));
    if (!next || next->elbo < best.elbo) break;
    best = std::move(*next);
  }
  judge();
  for (double before = none; !out.converged && out.iterations < control.max_iterations;) {
    const LatentNumbers numbers(best.q);
    LbfgsControl lbfgs = search_control(numbers.size());
    const int left = control.max_iterations - out.iterations;
    lbfgs.max_iterations = control.cold ? left : std::min(round_length(lbfgs), left);
    before = best.elbo;
    const Objective objective = [&](const Vector& x, Vector& gradient) {
      ++out.iterations;
      const auto point = model.at(numbers.read(model.model().context(), x));
      if (!point) {
        gradient.setZero(x.size());
        return -none;
      }
      numbers.gradient(model, *point, x, gradient);
      gradient *= -1;
      if (point->elbo > best.elbo) {
        best = *point;
        judge();
        if (out.converged) throw Enough{};
      }
      return -point->elbo;
    };
    minimise(objective, Vector::Zero(numbers.size()), {}, {}, lbfgs);
    if (control.cold || stalled(best.elbo, before)) break;
  }
  out.posterior = model.as_posterior(best);
  return out;
}

}  // namespace galvi
