#include "hyper/optimise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "hyper/joint.h"
#include "inference/several_starts.h"
#include "numeric/lbfgs.h"

namespace galvi {

namespace {

/// The bound at its optimal q as a function of the hyperparameters.
class Profile {
 public:
  Profile(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, InferenceControl control,
          Trace& trace)
      : model_(model), algorithm_(algorithm), table_(table), control_(control), trace_(trace) {}

  InferenceResult infer(const std::optional<Sites>& start, double tol) {
    model_.update(table_.values());
    InferenceControl control = control_;
    control.tol = tol;
    return algorithm_.run(model_, start, control, trace_);
  }
  InferenceResult infer(const std::optional<Sites>& start) { return infer(start, control_.tol); }

  double operator()(const Vector& x, Vector& gradient) {
    table_.set_unconstrained(x);
    InferenceResult result;
    try {
      result = infer(sites_, tolerance());
    } catch (const std::domain_error&) {
      // no posterior at these hyperparameters: the line search must come back
      gradient.setZero(x.size());
      return std::numeric_limits<double>::infinity();
    }
    const double objective = result.posterior.elbo + table_.log_prior();
    gradient = -table_.chain(slope(result.posterior));
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
    if (gradient_.size() == 0) return std::max(control_.tol, loosest);
    return std::clamp(1e-3 * gradient_.squaredNorm(), control_.tol, std::max(control_.tol, loosest));
  }
  static constexpr double loosest = 1e-3;

  LatentGaussianModel& model_;
  const Algorithm& algorithm_;
  HyperTable& table_;
  InferenceControl control_;
  Trace& trace_;
  std::optional<Sites> sites_;
  Vector gradient_;
  double best_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

Fit fit_hyper(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, bool optimise,
              const std::optional<Sites>& start, const InferenceControl& inference,
              const HyperControl& control, Trace& trace) {
  Fit out;
  Profile final_profile(model, algorithm, table, inference, trace);
  if (!optimise || table.learned() == 0) {
    out.inference = final_profile.infer(start);
  } else {
    trace.stage("hyperparameters");
    std::optional<Sites> sites = start;
    if (control.joint && !model.likelihood().conjugate()) {
      if (!model.likelihood().log_concave() || !model.expectation().consistent())
        throw std::domain_error(
            "joint = TRUE keeps lambda positive and climbs the bound, which this likelihood or "
            "expectation does not allow: leave it FALSE");
      InferenceControl frozen = inference;
      frozen.max_iterations = control.freeze;
      Profile freezing(model, algorithm, table, frozen, trace);
      const InferenceResult q = freezing.infer(start);
      const JointResult joint = optimise_jointly(model, table, q.posterior, control, trace);
      sites = joint.sites;
      out.hyper_converged = joint.converged;
    } else {
      InferenceControl warm = inference;
      warm.tol = std::max(inference.tol, 0.1 * control.tol);
      Profile profile(model, algorithm, table, warm, trace);
      if (start) profile.warm(*start);
      LbfgsControl lbfgs;
      lbfgs.max_iterations = control.max_iterations;
      lbfgs.gradient_tolerance = 0.5 * std::sqrt(control.tol);
      lbfgs.value_tolerance = 0;
      lbfgs.max_step = 4;
      lbfgs.patience = 20;  // every one is an inference
      const Vector x0 = table.unconstrained(), lower = table.lower(), upper = table.upper();
      const Objective objective = [&](const Vector& x, Vector& gradient) { return profile(x, gradient); };
      const LbfgsResult result = minimise(objective, x0, lower, upper, lbfgs);
      if (!std::isfinite(result.value)) {
        table.set_unconstrained(x0);
        final_profile.infer(start);  // throws the reason
        throw std::domain_error(
            "the bound is not finite at the starting hyperparameters; set others by `start`");
      }
      table.set_unconstrained(result.x);
      sites = profile.sites();
      // A search may end at rounding level: what counts is the projected gradient at the best point.
      const Vector projected =
          (result.x - profile.best_gradient()).cwiseMax(lower).cwiseMin(upper) - result.x;
      out.hyper_converged =
          result.converged || projected.cwiseAbs().maxCoeff() <= 20 * lbfgs.gradient_tolerance;
    }
    trace.stage("final inference");
    out.inference = final_profile.infer(sites);
    if (!out.hyper_converged)
      out.hyper_message =
          "the hyperparameters did not settle within hyper_iterations; raise it, try starts = 5, or "
          "give priors to weakly identified ones";
  }
  out.inference = best_of_starts(model, algorithm, std::move(out.inference), inference, trace);
  out.hyper = table.values();
  out.objective = out.inference.posterior.elbo + table.log_prior();
  return out;
}

}  // namespace galvi
