#include "hyper/optimise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "hyper/factors.h"
#include "hyper/joint.h"
#include "hyper/minibatches.h"
#include "hyper/projected_newton.h"
#include "hyper/site_path.h"
#include "inference/several_starts.h"
#include "prior/factors_term.h"

namespace galvi {

namespace {

/// The bound at its optimal q as a function of the hyperparameters.
class Profile {
 public:
  /// loosest: the largest tolerance of an inference, in nats, used where the gradient is large.
  Profile(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, InferenceControl control,
          Trace& trace, double loosest = 0)
      : model_(model),
        algorithm_(algorithm),
        table_(table),
        control_(control),
        trace_(trace),
        loosest_(std::max(loosest, control.tol)),
        estimates_(loosest > 0 && model.one_optimum() && model.estimates_distance()) {
    control_.certified = !estimates_;
  }

  InferenceResult infer(const std::optional<Start>& start, double tol) {
    model_.update(table_.values());
    InferenceControl control = control_;
    control.tol = tol;
    return algorithm_.run(model_, start, control, trace_);
  }
  InferenceResult infer(const std::optional<Start>& start) { return infer(start, control_.tol); }

  double operator()(const Vector& x, Vector& gradient) {
    table_.set_unconstrained(x);
    trace_.attempt();
    InferenceResult result;
    try {
      result = infer(estimates_ && start_ ? path_.start_at(x, *start_) : start_, tolerance());
      gradient = -table_.chain(slope(result.posterior));
    } catch (const std::domain_error&) {
      trace_.judge(-std::numeric_limits<double>::infinity());
      // no posterior at these hyperparameters, or none with a gradient: the line search must backtrack
      gradient.setZero(x.size());
      return std::numeric_limits<double>::infinity();
    }
    const double objective = result.posterior->elbo + table_.log_prior();
    trace_.judge(objective);
    if (estimates_) path_.add(x, result.posterior.start(), objective > best_);
    if (objective > best_) {
      best_ = objective;
      start_ = result.posterior.start();
      gradient_ = gradient;
    }
    return -objective;
  }

  Vector slope(const Posterior& posterior) {
    return algorithm_.objective_gradient(model_, posterior, table_.size());
  }

  const std::optional<Start>& start() const { return start_; }
  const Vector& best_gradient() const { return gradient_; }
  void warm(const Start& start) { start_ = start; }

  /// From now on every inference is as good as the last one; false if they are already.
  bool tighten() {
    if (estimates_ || loosest_ <= control_.tol) return false;
    loosest_ = control_.tol;
    gradient_.resize(0);
    best_ = -std::numeric_limits<double>::infinity();
    return true;
  }

 private:
  static constexpr double largest_estimate = 1e-4;

  /// The error of the envelope gradient grows as the square root of the gap that inference leaves. Far from
  /// the best hyperparameters, where the gradient is large, a rough optimum of q is good enough.
  double tolerance() const {
    // Bounds are larger than the gap; an estimate is not, and the gradient's error is that root times the root of a
    // curvature that grows with the rows.
    if (estimates_) {
      const double least = std::clamp(1e-5 * control_.tol, 1e-10, 1e-8);
      return gradient_.size() == 0 ? largest_estimate
                                   : std::clamp(1e-5 * gradient_.squaredNorm(), least, largest_estimate);
    }
    if (gradient_.size() == 0) return loosest_;
    return std::clamp(1e-3 * gradient_.squaredNorm(), control_.tol, loosest_);
  }

  LatentGaussianModel& model_;
  const Algorithm& algorithm_;
  HyperTable& table_;
  InferenceControl control_;
  Trace& trace_;
  double loosest_;
  bool estimates_;  // rather than bounds decide when inference stops
  SitePath path_;
  std::optional<Start> start_;
  Vector gradient_;
  double best_ = -std::numeric_limits<double>::infinity();
};

/// The result of a search beside the table's values: where the last inference may start.
struct Search {
  std::optional<Start> start;
  bool converged;
  std::string note = {};  // a message for users
};

/// Where correlations end at one, slopes are too steep for line searches, which stop although nothing is left to gain.
/// Points aside along each axis decide: the best of them if it gains anything that is felt, or empty.
std::optional<Vector> better_aside(const Objective& objective, const LbfgsResult& found, const Vector& lower,
                                   const Vector& upper) {
  constexpr double felt = 1e-3;  // nats
  std::optional<Vector> out;
  double best = found.value - felt;
  Vector gradient;
  for (Index i = 0; i < found.x.size(); ++i)
    for (const double move : {0.05, -0.05, 0.005, -0.005}) {
      Vector x = found.x;
      x[i] = std::clamp(x[i] + move, lower[i], upper[i]);
      const double value = objective(x, gradient);
      if (!(value < best)) continue;
      best = value;
      out = x;
    }
  return out;
}

/// A search over the bound at its optimal q.
Search search_profile(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                      const std::optional<Start>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace) {
  constexpr Index many = 50;
  if (control.method->differences && table.learned() > many)
    throw std::domain_error(
        "hyper_method = \"" + control.method->name +
        "\" takes as many gradients for each step as hyperparameters are learned, " +
        std::to_string(table.learned()) + " here and " + std::to_string(many) +
        " at most: use hyper_method = \"lbfgs\", or hold some (inducing points by move_inducing = FALSE)");
  // Differences of gradients need more digits than a line search.
  InferenceControl warm = inference;
  warm.tol = control.method->differences ? 0.01 * inference.tol : std::max(inference.tol, 0.1 * control.tol);
  Profile profile(model, algorithm, table, warm, trace, control.method->differences ? 0 : 1e-3);
  if (start) profile.warm(*start);
  LbfgsControl search;
  search.max_iterations = control.max_iterations;
  const double settled = 0.5 * std::sqrt(control.tol);
  // An exact posterior of a few coefficients is cheap, and its gradient has all digits: some more steps give those of
  // variances that the bound hardly depends on.
  const bool cheap = model.likelihood().conjugate() && model.sums_suffice() && model.has_all_rows();
  search.gradient_tolerance = cheap ? 0.02 * settled : settled;
  const bool few = table.learned() <= many;
  // The last digits of many values, such as coordinates of inducing points, are not worth the steps that they take. The
  // value grows with the rows, so that with many of them a small part of it is still some nats.
  search.value_tolerance = few ? 0 : std::min(100 * control.tol, 3 / static_cast<double>(model.observations()));
  search.max_step = 4;
  // From a large variance to one near zero, where the bound is flat. Restarts lose what is known of many other values.
  constexpr double longest = 4;
  constexpr Index most_restarted = 12;
  if (table.learned() <= most_restarted) {
    search.longest = Vector::Constant(table.learned(), std::numeric_limits<double>::infinity());
    for (Index i = 0; i < table.learned(); ++i)
      if (table.limited(i)) search.longest[i] = longest;
  }
  search.patience = 20;  // each one is an inference
  search.curvature = static_cast<double>(model.observations());  // that of the noise
  const Vector x0 = table.unconstrained(), lower = table.lower(), upper = table.upper();
  const Objective objective = [&](const Vector& x, Vector& gradient) { return profile(x, gradient); };
  LbfgsResult result;
  if (control.hessian && control.hessian->rows() == x0.size() && !control.method->differences) {
    LbfgsControl own = search;
    own.max_iterations = std::min(search.max_iterations, 20);
    result = minimise_from_hessian(objective, x0, *control.hessian, lower, upper, own);
  }
  // what a search from a guess of the Hessian leaves
  if (!(result.converged && std::isfinite(result.value)))
    result = control.method->minimise(objective, std::isfinite(result.value) ? result.x : x0, lower, upper, search);
  // where inference converges slowly, what it leaves hides the last gains
  if (!result.converged && std::isfinite(result.value) && profile.tighten())
    result = control.method->minimise(objective, result.x, lower, upper, search);
  constexpr int most_rounds = 5;
  const bool stalled = few && !result.ended_early && std::isfinite(result.value);
  for (int round = 0; stalled && !result.converged && round < most_rounds; ++round) {
    const std::optional<Vector> aside = better_aside(objective, result, lower, upper);
    if (!aside) {
      result.converged = true;
      break;
    }
    LbfgsResult next = control.method->minimise(objective, *aside, lower, upper, search);
    if (!(next.value < result.value)) break;
    result = std::move(next);
  }
  if (!std::isfinite(result.value)) {
    table.set_unconstrained(x0);
    Profile(model, algorithm, table, inference, trace).infer(start);  // throws the reason
    throw std::domain_error(
        "the bound is not finite at the starting hyperparameters; set others by `start`");
  }
  table.set_unconstrained(result.x);
  // A search may end at rounding level: the projected gradient at the best point decides.
  const Vector projected = (result.x - profile.best_gradient()).cwiseMax(lower).cwiseMin(upper) - result.x;
  const double left = std::max(20 * settled, gradient_of_rounding(result.value, search.curvature));
  return {profile.start(), result.converged || projected.cwiseAbs().maxCoeff() <= left};
}

/// A search over q and hyperparameters together.
Search search_jointly(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                      const std::optional<Start>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace) {
  if (algorithm.gradient)
    throw std::domain_error("joint = TRUE climbs the bound of Gaussian posteriors, which is not what \"" +
                            algorithm.name + "\" is after: leave it FALSE");
  if (!model.likelihood().concave_in_each() || !model.expectation().consistent())
    throw std::domain_error(
        "joint = TRUE keeps lambda positive and climbs the bound, which this likelihood or "
        "expectation does not allow: leave it FALSE");
  InferenceControl frozen = inference;
  frozen.max_iterations = control.freeze;
  // The units of q's numbers are those of its variances where a run of L-BFGS starts; a scale that has grown
  // tenfold since makes them useless, and sites of rows whose latent value hardly varies have run away. So
  // runs are short, and between them q takes some steps of its own, which set both right. The last one gains
  // nothing.
  constexpr int run = 200;
  int left = 10 * control.max_iterations;  // many cheap steps instead of few inferences
  Search out{start, false};
  double best = -std::numeric_limits<double>::infinity();
  for (double gain = control.tol + 1; left > 0 && gain > control.tol; left -= run) {
    const InferenceResult q = Profile(model, algorithm, table, frozen, trace).infer(out.start);
    const JointResult joint = optimise_jointly(model, table, q.posterior, control, std::min(run, left), trace);
    out = {joint.start, joint.converged};
    gain = joint.objective - best;
    best = joint.objective;
  }
  return out;
}

/// What is near the end of a range, as a share of it on the unconstrained scale.
constexpr double near_limit = 0.31;

/// A search ends where the objective is flat to its tolerance. On the way to a variance of zero or a correlation of
/// one, which are infinitely far away, that is everywhere beyond some point: the end of the range is tried, and taken
/// where it is as good. What follows is a search of the others from there.
/// -> whether anything was moved
bool settle_at_limits(Profile& profile, HyperTable& table, const HyperControl& control) {
  constexpr double felt = 1e-3;  // nats: a correlation that matters less is not known at all
  const Vector lower = table.lower(), upper = table.upper();
  Vector x = table.unconstrained(), gradient(x.size());
  const auto objective = [&](const Vector& at) { return -profile(at, gradient); };
  std::vector<Index> candidates;
  for (Index i = 0; i < x.size(); ++i) {
    const double reach = near_limit * (upper[i] - lower[i]);
    const bool low = x[i] - lower[i] < reach, high = upper[i] - x[i] < reach;
    const bool known = x[i] <= lower[i] + 1e-6 || x[i] >= upper[i] - 1e-6;
    const bool bounded = std::isfinite(table.transform(i).upper);
    if (table.limited(i) && !known && (low || (high && bounded))) candidates.push_back(i);
  }
  if (candidates.empty()) return false;
  double best = objective(x);
  bool moved = false;
  for (const Index i : candidates) {
    Vector end = x;
    end[i] = x[i] - lower[i] < upper[i] - x[i] ? lower[i] : upper[i];
    const double there = objective(end);
    const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::abs(best);
    if (!(there >= best - control.tol - rounding)) continue;
    if (std::isfinite(table.transform(i).upper)) {
      Vector opposite = end;
      opposite[i] = -end[i];
      if (std::abs(objective(opposite) - there) < felt) continue;
    }
    x = end;
    best = there;
    moved = true;
  }
  table.set_unconstrained(x);
  return moved;
}

/// On a logarithmic scale the bound is flat near a variance of zero, so that a search which steps there over a
/// maximum does not return. Each variance that ended at zero, or where the bound is as at zero, is tried from the middle of
/// its range downwards, with the others as they are: the search goes on from where the bound is highest.
/// -> whether anything was moved
bool leave_limits(Profile& profile, HyperTable& table) {
  const double step = std::log(10.0);
  constexpr int tries = 6;
  constexpr double felt = 1e-3, alike = 0.01;  // nats
  const Vector lower = table.lower(), upper = table.upper();
  Vector x = table.unconstrained(), gradient(x.size());
  std::vector<Index> candidates;
  for (Index i = 0; i < x.size(); ++i)
    if (table.limited(i) && x[i] - lower[i] < near_limit * (upper[i] - lower[i]) &&
        !std::isfinite(table.transform(i).upper))
      candidates.push_back(i);
  if (candidates.empty()) return false;
  double best = -profile(x, gradient);
  bool moved = false;
  for (const Index i : candidates) {
    const double at_zero = best;
    Vector at = x;
    at[i] = lower[i];
    if (x[i] > lower[i] + 1e-6 && !(std::abs(best + profile(at, gradient)) < alike)) continue;
    at[i] = 0.5 * (lower[i] + upper[i]);
    for (int k = 0; k < tries && at[i] > lower[i]; ++k, at[i] -= step) {
      const double there = -profile(at, gradient);
      if (there > std::max(best, at_zero + felt)) {
        best = there;
        x = at;
      } else if (best > at_zero) {
        break;  // past the maximum
      }
      // what is left on the way to zero is less than this
      if (std::abs(there - at_zero) < alike && std::abs(gradient[i]) < alike) break;
    }
    moved = moved || best > at_zero;
  }
  table.set_unconstrained(x);
  return moved;
}

/// Learned effects of factors move the prior mean, which only the bound's gradient accounts for.
void check_effects(const LatentGaussianModel& model, const Algorithm& algorithm, const HyperTable& table) {
  if (!algorithm.gradient && model.expectation().consistent()) return;
  const auto& learned = table.learned_positions();
  for (const auto& part : model.priors())
    for (const auto& term : *part.prior)
      if (const FactorsTerm* factors = term->factors())
        for (Index i = 0; i < factors->effect_positions().size(); ++i)
          if (std::binary_search(learned.begin(), learned.end(), factors->effect_positions().data()[i]))
            throw std::domain_error("method \"" + algorithm.name + "\" with expectation \"" +
                                    model.expectation().name() + "\" cannot learn effects of items as points: use "
                                    "method = \"auto\"");
}

/// The algorithm's own way of learning.
Search search_by_algorithm(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                           const InferenceControl& inference, Trace& trace) {
  return {learn_by_minibatches(BlockModel(model), algorithm, table, inference, trace), true};
}

Search by_factors(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
                  const std::optional<Start>& start, const InferenceControl& inference,
                  const HyperControl& control, Trace& trace) {
  FactorSearch found = search_factors(model, algorithm, table, term, start, inference, control, trace);
  return {std::move(found.start), found.converged, std::move(found.note)};
}

}  // namespace

const std::vector<HyperMethod>& hyper_methods() {
  static const std::vector<HyperMethod> table = {
      {"lbfgs", minimise, false},             // L-BFGS-B
      {"newton", minimise_by_newton, true},  // projected Newton
  };
  return table;
}

const HyperMethod& find_hyper_method(const std::string& name) {
  for (const HyperMethod& method : hyper_methods())
    if (method.name == name) return method;
  throw std::invalid_argument("unknown hyper_method \"" + name + "\"");
}

Fit fit_hyper(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, bool optimise,
              const std::optional<Start>& start, const InferenceControl& inference,
              const HyperControl& control, Trace& trace) {
  Fit out;
  std::string note;
  Profile profile(model, algorithm, table, inference, trace);
  if (!optimise || table.learned() == 0) {
    out.inference = profile.infer(start);
  } else {
    trace.stage(Stage::learning);
    // For a conjugate model the best q is one step away: moving N sites beside the hyperparameters would be
    // slower.
    const bool one_step = model.likelihood().conjugate() && !model.sums_suffice();
    const bool together = control.joint && !one_step;
    check_effects(model, algorithm, table);
    const Index factors = together || algorithm.learn ? -1 : factors_to_alternate(model, algorithm, table);
    Search search = algorithm.learn
                              ? search_by_algorithm(model, algorithm, table, inference, trace)
                          : factors >= 0
                              ? by_factors(model, algorithm, table, factors, start, inference, control, trace)
                              : (together ? search_jointly : search_profile)(model, algorithm, table, start,
                                                                             inference, control, trace);
    if (!algorithm.learn && factors < 0) {
      Profile limits(model, algorithm, table, inference, trace);
      if (search.start) limits.warm(*search.start);
      const auto settle = [&] {
        if (settle_at_limits(limits, table, control))
          search = search_profile(model, algorithm, table, limits.start(), inference, control, trace);
      };
      settle();
      InferenceControl rough = inference;
      rough.tol = std::max(rough.tol, 1e-4);
      constexpr int most_rounds = 3;
      for (int round = 0; round < most_rounds; ++round) {
        Profile elsewhere(model, algorithm, table, rough, trace);
        if (search.start) elsewhere.warm(*search.start);
        if (!leave_limits(elsewhere, table)) break;
        search = search_profile(model, algorithm, table, elsewhere.start(), inference, control, trace);
        if (search.start) limits.warm(*search.start);
        settle();
      }
    }
    out.hyper_converged = search.converged;
    if (factors < 0) turn_to_principal_axes(model, table);
    trace.stage(Stage::inference);
    out.inference = profile.infer(search.start);
    note = search.note;
    if (!out.hyper_converged)
      out.hyper_message =
          "the hyperparameters did not settle within hyper_iterations; raise it, try starts = 5, or "
          "give priors to weakly identified ones";
  }
  out.inference = best_of_starts(model, algorithm, std::move(out.inference), inference, trace);
  if (!note.empty()) out.inference.note = note;
  // the remaining gain may be less than the bound's rounding error, which hides every further step
  constexpr double trusted = 1e-3;  // nats
  const Stationarity& left = out.inference.stationarity;
  if (left.measure() <= std::min(left.rounding, trusted)) out.inference.converged = true;
  out.hyper = table.values();
  out.objective = out.inference.posterior->elbo + table.log_prior();
  return out;
}

}  // namespace galvi
