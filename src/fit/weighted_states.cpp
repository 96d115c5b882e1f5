#include "fit/weighted_states.h"

#include <cmath>
#include <limits>

#include "fit/integrate.h"
#include "fit/marginal_points.h"

namespace galvi {

namespace {

/// Where inference at other hyperparameters begins.
Start sites_of(const Fit& fit) {
  return fit.inference.posterior.visit(Overloaded{[](const SitePosterior& own) { return Start(own.sites); },
                                                  [](const SumsPosterior& own) { return Start(own.sites.q); }});
}

}  // namespace

bool gaussian_given_hyper(const LatentGaussianModel& model) {
  return model.likelihood().conjugate() && model.latents() == 1;
}

std::optional<WeightedState> state_at(LatentGaussianModel& model, HyperTable& table, const Plan& plan,
                                      const Vector& x, const Start& mode,
                                      const EvidenceAboveBound* evidence) {
  table.set_unconstrained(x);
  Trace aside(model.context());
  aside.stage(Stage::silent);
  try {
    model.update(table.values());
    const auto from = [&](const std::optional<Start>& start) {
      return fit_hyper(model, choose(plan.method, model), table, false, start, plan.inference, plan.hyper,
                       aside);
    };
    WeightedState out{0, from(mode), {}};
    // the mode's posterior may be as far away as any, at another shape of survival times for example
    if (!has_converged(out.fit)) out.fit = from(std::nullopt);
    if (!std::isfinite(out.fit.inference.posterior->elbo) || !out.fit.inference.message.empty())
      return std::nullopt;
    if (evidence)
      out.above = (*evidence)(model, out.fit.inference.posterior);  // of what state_of() may overwrite
    out.state = state_of(model, out.fit.inference.posterior, plan.keep_factor);
    out.fit.inference.posterior.drop_expectations();  // not kept
    return out;
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

bool integrate_states(LatentGaussianModel& model, HyperTable& table, Plan plan, const Mode& mode, FitResult& out) {
  const Posterior& q = mode.fit.inference.posterior;
  const Vector values = mode.fit.hyper;
  plan.inference.one_start = true;
  HyperPosterior posterior = *mode.posterior;
  model.update(values);
  // an algorithm with a gradient of its own has an evidence of its own
  const EvidenceAboveBound evidence = plan.algorithm->gradient ? EvidenceAboveBound() : EvidenceAboveBound(model, q);
  const double at_mode = evidence(model, q);

  // Where z is zero, and all states of the design around it.
  WeightedState centre{0, mode.fit, mode.state, at_mode};
  std::vector<WeightedState> states;
  int fits = 0;
  const Fall fall = [&](const Vector& z, bool point) -> std::optional<double> {
    if (point && z.isZero(0)) {
      states.push_back(centre);
      return 0;
    }
    const Vector x = posterior.place(z);
    if (!posterior.in_range(x)) return std::nullopt;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    model.context().monitor.report({"Integrating over the hyperparameters", ++fits, none, none});
    table.set_values(values);
    std::optional<WeightedState> found = state_at(model, table, plan, x, sites_of(centre.fit), &evidence);
    if (!found) return std::nullopt;
    const double below = centre.fit.objective + centre.above - found->fit.objective - found->above;
    if (point) states.push_back(std::move(*found));
    return below;
  };
  const Cost cost = model.context().cost;
  std::optional<MarginalStates> marginal;
  if (plan.integrate == "auto" && posterior.size() > most_on_grid && gaussian_given_hyper(model))
    marginal = marginal_states(model, table, posterior);
  const auto top = [&] { return centre.fit.objective + centre.above - at_mode; };
  const auto higher = [&] { return posterior.log_density.maxCoeff() - top(); };
  if (marginal)
    integrate_at(posterior, marginal->z, marginal->weight, top(), fall);
  else
    integrate(posterior, plan.integrate, top(), fall);
  // The evidence may have its mode elsewhere than the bound. The design goes there, as long as there is an end to that.
  constexpr double most_above = 20, far_above = 4;
  constexpr int most_moves = 5;
  for (int move = 0; move < most_moves && !marginal && higher() > far_above; ++move) {
    Index best;
    posterior.log_density.maxCoeff(&best);
    posterior.value = posterior.place(posterior.stretch(posterior.z.row(best)).row(0).transpose());
    centre = std::move(states[best]);
    states.clear();
    integrate(posterior, plan.integrate, top(), fall);
  }
  model.context().cost = cost;
  // points lie by the curvature at the mode, which is that of no place so much higher, or so far away
  constexpr double farthest = 3;  // a factor of 20
  const Vector moved = posterior.value - mode.posterior->value;
  if (higher() > most_above || moved.lpNorm<Eigen::Infinity>() > farthest) return false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].weight = posterior.weight[i];
    // the bound of the mixture with these weights
    posterior.log_evidence -= states[i].weight * (states[i].above - at_mode);
    out.converged = out.converged && has_converged(states[i].fit);
  }
  out.states = std::move(states);
  out.hyper_posterior = std::move(posterior);
  out.uncertainty.method = Uncertainty::states;
  return true;
}

States takes_states(const LatentGaussianModel& model, Joint joint, Index parameters) {
  constexpr Index most_rows = 20000, most_full = 500, most_coefficients = 300;
  // a composite design of more than eight dimensions has 150 points or more, each with a state
  constexpr Index few_rows = 1000;
  const Index most_parameters = model.rows() <= few_rows ? 12 : 8;
  if (parameters == 0 || parameters > most_parameters || !model.has_all_rows() ||
      model.rows() > (model.full() ? most_full : most_rows_of_states))
    return States::no;
  bool plain = true, small = true;
  for (const auto& part : model.priors()) {
    Index coefficients = 0;
    for (const auto& term : *part.prior) {
      plain = plain && term->has_plain_design();
      coefficients += coefficient_count(*term);
    }
    small = small && coefficients <= most_coefficients;
  }
  if (model.rows() > most_rows) return plain && small ? States::no : States::where_uncertain;
  // a joint Gaussian is as good, and takes less time
  constexpr Index most_thresholds = 6, most_ordered_rows = 2000;
  const bool ordered =
      joint == Joint::ordered && (parameters > most_thresholds || model.rows() > most_ordered_rows);
  const bool few = plain && !ordered && (small || gaussian_given_hyper(model));
  return few ? States::yes : States::where_uncertain;
}

}  // namespace galvi
