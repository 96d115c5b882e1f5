#include "fit/uncertainty.h"

#include <utility>

#include "fit/coupled_response.h"
#include "fit/mode.h"
#include "fit/weighted_states.h"
#include "likelihood/mixed.h"

namespace galvi {

namespace {

/// Points from the mode on; empty where there is no start for them.
std::optional<WeightedPoints> points_from(const Unknowns& unknowns, HyperTable& table, const Plan& plan,
                                          const Mode& mode) {
  const std::optional<CoefficientGaussian> step = unknowns.one_step(mode.fit.inference.posterior);
  if (!step) return std::nullopt;
  return weighted_points(unknowns, table, mode.posterior ? mode.posterior->free : std::vector<Index>(),
                         joint_at_mode(mode, *step), plan.another_likelihood);
}

// States on the axes of so many hyperparameters tell their posterior's moments; with more of them these lie too far out.
constexpr Index most_axes = 8;

/// The joint Gaussian by states around the mode; empty where these cannot be trusted.   apart: the coefficients at the mode
std::optional<CoefficientGaussian> star_around(LatentGaussianModel& model, HyperTable& table, Plan plan,
                                               const Mode& mode, const Unknowns& unknowns,
                                               const CoefficientGaussian& apart) {
  const HyperPosterior& posterior = *mode.posterior;
  const Matrix design = star_design(posterior.size());
  std::vector<StarState> states;
  plan.inference.one_start = true;
  for (Index s = 0; s < design.rows(); ++s) {
    const Vector z = design.row(s);
    if (s == 0) {
      states.push_back({z, mode.fit.objective, apart});
      continue;
    }
    const Vector x = posterior.place(z);
    if (!posterior.in_range(x)) continue;
    table.set_values(mode.fit.hyper);
    const std::optional<WeightedState> at =
        state_at(model, table, plan, x, mode.fit.inference.posterior.start(), nullptr);
    const std::optional<CoefficientGaussian> there =
        at ? unknowns.one_step(at->fit.inference.posterior) : std::nullopt;
    if (there) states.push_back({z, at->fit.objective, *there});
  }
  return star_gaussian(posterior, states);
}

/// The joint Gaussian at the mode, where latent values of a row depend on each other by linear response, and by states
/// around it, or the means' slopes, if hyperparameters are uncertain.
void respond(LatentGaussianModel& model, HyperTable& table, Plan plan, const Mode& mode,
             const Unknowns& unknowns, bool coupled, FitResult& out) {
  constexpr double farthest = 0.8;  // radius
  model.update(table.values());
  const Posterior& q = mode.fit.inference.posterior;
  const std::optional<CoefficientGaussian> apart = unknowns.one_step(q);
  CoupledResponse found;
  if (coupled)
    found = coupled_response(unknowns, q);
  else if (apart)
    found.gaussian = *apart;
  const Index L = unknowns.size();
  Uncertainty& told = out.uncertainty;
  told.radius = found.radius;
  if (!apart || !found.refused.empty() || found.radius >= farthest) {
    told.refused = found.refused.empty() ? "linear response is far from what a Gaussian has" : found.refused;
    return;
  }
  CoefficientGaussian joint = found.gaussian;
  if (mode.posterior) {
    std::optional<CoefficientGaussian> star;
    if (mode.posterior->size() <= most_axes)
      star = star_around(model, table, std::move(plan), mode, unknowns, *apart);
    if (star) {
      star->mean.head(L) += found.gaussian.mean - apart->mean;
      star->covariance.topLeftCorner(L, L) += found.gaussian.covariance - apart->covariance;
      joint = std::move(*star);
    } else if (mode.slope.size() > 0) {
      joint = joint_at_mode(mode, found.gaussian);
    } else {
      told.refused = "how coefficients depend on hyperparameters is not known";
      return;
    }
  }
  if (!joint.mean.allFinite() || !joint.covariance.allFinite()) {
    told.refused = "linear response is not finite";
    return;
  }
  const Matrix points = gaussian_points(joint.mean, joint.covariance);
  table.set_values(mode.fit.hyper);
  told.response_found =
      GaussianPoints{points.leftCols(L), table.unconstrained().transpose().replicate(points.rows(), 1)};
  if (mode.posterior) {
    const std::vector<Index>& free = mode.posterior->free;
    for (std::size_t k = 0; k < free.size(); ++k)
      told.response_found->hyper.col(free[k]) = points.col(L + static_cast<Index>(k));
  }
  told.refused.clear();
  told.method = Uncertainty::response;
}

/// Do the latent values of any row depend on each other? Not where the log density is a sum of functions of one each, as
/// with a hurdle.
bool couples(LatentGaussianModel& model, const Posterior& q) {
  constexpr double none = 1e-10;  // of the curvature
  const Index K = model.latents();
  Expectations e;
  model.expectation().evaluate(model.context(), model.likelihood(), model.data(), q->mean, q->variance, 2, e);
  double largest = 0, between = 0;
  for (Index j = 0; j < K; ++j)
    for (Index k = 0; k < K; ++k) {
      double& of = j == k ? largest : between;
      of = std::max(of, e.d_mm.col(j + K * k).cwiseAbs().maxCoeff());
    }
  return !(between <= none * largest);
}

/// The coefficients, where these alone are uncertain and q is too narrow for them because the likelihood is skew: with few
/// rows or rare events.
std::optional<Unknowns> skew_unknowns(LatentGaussianModel& model, const Posterior& q) {
  constexpr double most_share = 0.04;  // of a variance
  if (!takes_points(1, model.rows()) || !model.expectation().exact()) return std::nullopt;
  std::optional<Unknowns> out = Unknowns::of(model, most_unknowns);
  const std::optional<CoefficientGaussian> step = out ? out->one_step(q) : std::nullopt;
  if (!step || out->skew_share(q, *step) <= most_share) return std::nullopt;
  return out;
}

/// Are states near a joint posterior that is far from every Gaussian? Those of smooths are, and where priors of coefficients
/// make it so: where the posterior is Gaussian given hyperparameters, but for heavy tails, or coefficients have a learned
/// scale, given which they are nearer to one.
bool states_serve(const LatentGaussianModel& model, const Plan& plan) {
  if (plan.joint == Joint::states) return true;
  const Mixed* mixed = model.likelihood().mixed();
  if (model.latents() != 1 || !mixed || !mixed->has_priors()) return false;
  const auto& parts = mixed->parts();
  return parts.front()->conjugate() ||
         std::any_of(parts.begin() + 1, parts.end(), [](const auto& prior) { return prior->has_hyper(); });
}

/// The ways to a joint posterior that are worth trying, in this order, until one is believed.
struct Ways {
  bool coupled = false;              // latent values of a row depend on each other
  std::optional<Unknowns> unknowns;  // of points and of linear response
  bool points = false, response = false, states = false;
  bool perhaps = false;  // states if some hyperparameter proves to be known badly
};

/// What points or linear response would move, if they are worth it. gaussian: as a joint Gaussian
std::optional<Unknowns> unknowns_for(LatentGaussianModel& model, const Plan& plan, Index parameters,
                                     const Posterior& q, bool coupled, bool gaussian) {
  constexpr Index most_coefficients = 300, most_coupled = 1000;
  const bool exact = gaussian_given_hyper(model);
  if (parameters == 0 && !coupled) return exact ? std::nullopt : skew_unknowns(model, q);
  if (!gaussian) return exact ? std::nullopt : Unknowns::of(model, most_unknowns);
  const bool many = coupled || plan.joint == Joint::ordered || parameters > most_axes;
  return Unknowns::of(model, many ? most_coupled : most_coefficients);
}

/// parameters: how many hyperparameters are learned
Ways ways_for(LatentGaussianModel& model, const Plan& plan, Index parameters, const Posterior& q) {
  constexpr Index most_parameters = 50;
  Ways out;
  if (plan.joint == Joint::nowhere || !plan.integrate.empty()) return out;
  out.coupled = model.latents() > 1 && model.has_all_rows() && couples(model, q);
  if (!out.coupled && plan.joint == Joint::coupled) return out;
  const States states = out.coupled ? States::no : takes_states(model, plan.joint, parameters);
  out.states = states == States::yes;
  const bool exact = gaussian_given_hyper(model);
  // A joint Gaussian where rows are too many for points and states. They know the noise of a linear model well enough.
  const bool gaussian = out.coupled || (!out.states && !(exact && parameters == 1));
  if (plan.joint != Joint::states)
    out.unknowns = unknowns_for(model, plan, parameters, q, out.coupled, gaussian);
  else if (out.states && !exact)  // each state is a Gaussian
    out.unknowns = skew_unknowns(model, q);
  out.points = out.unknowns && !exact && takes_points(out.unknowns->size() + parameters, model.rows());
  out.response = out.unknowns && gaussian && parameters <= most_parameters;
  out.perhaps = states == States::where_uncertain && !out.points && !out.response;
  return out;
}

/// The mode that these ways need, by which those that are perhaps are decided.
Mode mode_for(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const FitResult& found,
              Ways& ways) {
  MeansOf means;
  if (ways.points || ways.response)
    means = [&](const Posterior& q) { return ways.unknowns->mean(q); };
  else if (ways.perhaps)
    means = [&](const Posterior& q) { return column_means(state_of(model, q, false)); };
  const bool proper = ways.points || ways.response || ways.states || !plan.integrate.empty();
  Mode out = mode_of(model, table, plan, found, proper, means);
  if (!ways.perhaps || !is_uncertain(out, table)) return out;
  ways.states = true;
  return mode_of(model, table, plan, found, true, {});
}

void try_points(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const Mode& mode,
                const Unknowns& unknowns, Uncertainty& told) {
  model.update(table.values());
  told.points_found = points_from(unknowns, table, plan, mode);
  if (told.points_found && told.points_found->believed())
    told.method = Uncertainty::points;
  else if ((!told.points_found || told.points_found->hopeless()) && !states_serve(model, plan))
    told.refused = "the joint posterior of all that is uncertain is far from every Gaussian";
}

void try_states(LatentGaussianModel& model, HyperTable& table, Plan plan, const Mode& mode, bool perhaps,
                FitResult& out) {
  // a grid of more dimensions takes several times as long as the fit of many rows
  constexpr Index few_rows = 1000, many_rows = 20000;
  const Index few_axes = model.rows() > many_rows ? 1 : 2;
  const bool cheap = !perhaps || model.rows() <= few_rows || mode.posterior->size() <= few_axes;
  plan.integrate = cheap ? "auto" : "ccd";
  if (!integrate_states(model, table, std::move(plan), mode, out))
    out.uncertainty.refused =
        "the density of the hyperparameters is far higher elsewhere than at the mode that was found";
}

}  // namespace

void find_uncertainty(LatentGaussianModel& model, const HyperTable& learned, const Plan& plan,
                      FitResult& out) {
  HyperTable table = learned;
  const Index parameters = plan.learn ? learned.learned() : 0;
  Ways ways = ways_for(model, plan, parameters, out.fit.inference.posterior);
  Mode mode{out.fit, out.state, {}, {}};
  if (parameters > 0) mode = mode_for(model, table, plan, out, ways);
  if (mode.posterior) {
    HyperTable at = learned;
    at.set_values(out.fit.hyper);
    mode.posterior->estimate = at.unconstrained();
  }
  out.hyper_posterior = mode.posterior;
  if (!plan.integrate.empty() && mode.posterior && !integrate_states(model, table, plan, mode, out))
    throw std::domain_error(
        "the posterior of the hyperparameters has no end that was found, as their density is far higher "
        "elsewhere than at "
        "the mode: give them and the coefficients priors, as the argument `prior`, or use hyper = "
        "\"optimise\"");
  const bool known = parameters == 0 || mode.posterior;
  const auto open = [&] { return known && out.uncertainty.method == Uncertainty::factorised; };
  if (ways.points && open()) try_points(model, table, plan, mode, *ways.unknowns, out.uncertainty);
  if (ways.response && open())
    respond(model, table, plan, mode, *ways.unknowns, ways.coupled || parameters == 0, out);
  if (ways.states && open()) try_states(model, table, plan, mode, ways.perhaps, out);
  model.update(out.fit.hyper);
}

}  // namespace galvi
