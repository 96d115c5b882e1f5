#include "hyper/optimise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "hyper/joint.h"
#include "hyper/projected_newton.h"
#include "inference/several_starts.h"

namespace galvi {

namespace {

/// The bound at its optimal q as a function of the hyperparameters.
class Profile {
 public:
  /// loosest: the largest tolerance of an inference, in nats, where the gradient is large.
  Profile(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, InferenceControl control,
          Trace& trace, double loosest = 0)
      : model_(model),
        algorithm_(algorithm),
        table_(table),
        control_(control),
        trace_(trace),
        loosest_(std::max(loosest, control.tol)) {}

  InferenceResult infer(const std::optional<Sites>& start, double tol) {
    model_.update(table_.values());
    InferenceControl control = control_;
    control.tol = tol;
    return algorithm_.run(model_, start, control, trace_);
  }
  InferenceResult infer(const std::optional<Sites>& start) { return infer(start, control_.tol); }

  double operator()(const Vector& x, Vector& gradient) {
    table_.set_unconstrained(x);
    trace_.attempt();
    InferenceResult result;
    try {
      result = infer(sites_, tolerance());
      gradient = -table_.chain(slope(result.posterior));
    } catch (const std::domain_error&) {
      trace_.judge(-std::numeric_limits<double>::infinity());
      // no posterior at these hyperparameters, or none with a gradient: the line search must come back
      gradient.setZero(x.size());
      return std::numeric_limits<double>::infinity();
    }
    const double objective = result.posterior.elbo + table_.log_prior();
    trace_.judge(objective);
    if (objective > best_) {
      best_ = objective;
      sites_ = result.posterior.sites;
      gradient_ = gradient;
    }
    return -objective;
  }

  Vector slope(const Posterior& posterior) {
    if (algorithm_.gradient) return algorithm_.gradient(model_, posterior, table_.size());
    return model_.gradient(posterior, table_.size(), true);
  }

  const std::optional<Sites>& sites() const { return sites_; }
  const Vector& best_gradient() const { return gradient_; }
  void warm(const Sites& sites) { sites_ = sites; }

 private:
  /// The envelope gradient's error grows as the square root of the gap that inference leaves: far from the
  /// best hyperparameters, where the gradient is large, a rough optimum of q serves as well.
  double tolerance() const {
    if (gradient_.size() == 0) return loosest_;
    return std::clamp(1e-3 * gradient_.squaredNorm(), control_.tol, loosest_);
  }

  LatentGaussianModel& model_;
  const Algorithm& algorithm_;
  HyperTable& table_;
  InferenceControl control_;
  Trace& trace_;
  double loosest_;
  std::optional<Sites> sites_;
  Vector gradient_;
  double best_ = -std::numeric_limits<double>::infinity();
};

/// What a search leaves beside the table's values: where the last inference may start.
struct Search {
  std::optional<Sites> sites;
  bool converged;
};

/// A search over the bound at its optimal q.
Search search_profile(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                      const std::optional<Sites>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace) {
  constexpr Index many = 50;
  if (control.method->differences && table.learned() > many)
    throw std::domain_error(
        "hyper_method = \"" + control.method->name +
        "\" takes as many gradients for each step as hyperparameters are learned, " +
        std::to_string(table.learned()) + " here and " + std::to_string(many) +
        " at most: use hyper_method = \"lbfgs\", or hold some (inducing points by move_inducing = FALSE)");
  // Differences of gradients ask for more digits than a line search.
  InferenceControl warm = inference;
  warm.tol = control.method->differences ? 0.01 * inference.tol : std::max(inference.tol, 0.1 * control.tol);
  Profile profile(model, algorithm, table, warm, trace, control.method->differences ? 0 : 1e-3);
  if (start) profile.warm(*start);
  LbfgsControl search;
  search.max_iterations = control.max_iterations;
  search.gradient_tolerance = 0.5 * std::sqrt(control.tol);
  // The last digits of many values, as the coordinates of inducing points are, cost more steps than they are
  // worth.
  search.value_tolerance = table.learned() > many ? 100 * control.tol : 0;
  search.max_step = 4;
  search.patience = 20;  // every one is an inference
  const Vector x0 = table.unconstrained(), lower = table.lower(), upper = table.upper();
  const Objective objective = [&](const Vector& x, Vector& gradient) { return profile(x, gradient); };
  const LbfgsResult result = control.method->minimise(objective, x0, lower, upper, search);
  if (!std::isfinite(result.value)) {
    table.set_unconstrained(x0);
    Profile(model, algorithm, table, inference, trace).infer(start);  // throws the reason
    throw std::domain_error(
        "the bound is not finite at the starting hyperparameters; set others by `start`");
  }
  table.set_unconstrained(result.x);
  // A search may end at rounding level: what counts is the projected gradient at the best point.
  const Vector projected = (result.x - profile.best_gradient()).cwiseMax(lower).cwiseMin(upper) - result.x;
  // Where the value moves by its own rounding, the gradient moves by the root of that times twice the curvature,
  // which is about as large as there are observations. A sum of so many terms has lost a digit more than its last.
  const double rounding = 10 * std::numeric_limits<double>::epsilon() * std::abs(result.value);
  const double least = std::sqrt(8 * rounding * static_cast<double>(model.observations()));
  return {profile.sites(), result.converged || projected.cwiseAbs().maxCoeff() <=
                                                   std::max(20 * search.gradient_tolerance, least)};
}

/// A search over q and hyperparameters together.
Search search_jointly(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                      const std::optional<Sites>& start, const InferenceControl& inference,
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
  const InferenceResult q = Profile(model, algorithm, table, frozen, trace).infer(start);
  const JointResult joint = optimise_jointly(model, table, q.posterior, control, trace);
  return {joint.sites, joint.converged};
}

/// The way that the algorithm has of its own.
Search search_by_algorithm(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                           const InferenceControl& inference, Trace& trace) {
  return {algorithm.learn(BlockModel(model), table, inference, trace), true};
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
              const std::optional<Sites>& start, const InferenceControl& inference,
              const HyperControl& control, Trace& trace) {
  Fit out;
  Profile profile(model, algorithm, table, inference, trace);
  if (!optimise || table.learned() == 0) {
    out.inference = profile.infer(start);
  } else {
    trace.stage(Stage::learning);
    // For a conjugate model the best q is one step away: N sites that move beside it would only slow it down.
    const bool one_step = model.likelihood().conjugate() && !model.sums_suffice();
    const bool together = control.joint && !one_step;
    const Search search = algorithm.learn
                              ? search_by_algorithm(model, algorithm, table, inference, trace)
                              : (together ? search_jointly : search_profile)(model, algorithm, table, start,
                                                                             inference, control, trace);
    out.hyper_converged = search.converged;
    trace.stage(Stage::inference);
    out.inference = profile.infer(search.sites);
    if (!out.hyper_converged)
      out.hyper_message =
          "the hyperparameters did not settle within hyper_iterations; raise it, try starts = 5, or "
          "give priors to weakly identified ones";
  }
  out.inference = best_of_starts(model, algorithm, std::move(out.inference), inference, trace);
  // what is left to gain may be less than the bound's own rounding, which hides every further step
  constexpr double trusted = 1e-3;  // nats
  const Stationarity& left = out.inference.stationarity;
  if (left.measure() <= std::min(left.rounding, trusted)) out.inference.converged = true;
  out.hyper = table.values();
  out.objective = out.inference.posterior.elbo + table.log_prior();
  return out;
}

}  // namespace galvi
