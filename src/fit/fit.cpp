#include "fit/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fit/coupled_response.h"
#include "fit/evidence.h"
#include "fit/integrate.h"
#include "fit/marginal_points.h"
#include "fit/pilot.h"
#include "fit/scan.h"
#include "likelihood/mixed.h"

namespace galvi {

namespace {

bool has_converged(const Fit& fit) { return fit.inference.converged && fit.hyper_converged; }

/// Moves the table and the plan's start to where the search begins, by parts of the rows.
void pilot(LatentGaussianModel& model, HyperTable& table, Plan& plan) {
  LatentGaussianModel& smallest = *plan.pilots.front();
  if (plan.learn && !plan.algorithm->learn) {
    Trace aside(model.context());
    scan_lengthscales(smallest, choose(plan.method, smallest), table, std::nullopt, plan.inference, aside);
    if (table.is_place().any() || !model.sums_suffice())
      for (LatentGaussianModel* part : plan.pilots) {
        plan.hyper.hessian = learn_from_part(*part, plan.method, plan.inference, table);
        // what is known of hyperparameters grows with the rows
        if (plan.hyper.hessian)
          *plan.hyper.hessian *=
              static_cast<double>(model.observations()) / static_cast<double>(part->observations());
      }
    model.update(table.values());
  }
  if (!plan.start) plan.start = start_from_part(model, smallest, *plan.algorithm, plan.inference);
  plan.inference.one_start = plan.inference.one_start || plan.start.has_value();
}

/// The same by all rows.
void scan(LatentGaussianModel& model, HyperTable& table, Plan& plan, Trace& trace) {
  if (plan.learn && !plan.algorithm->learn)
    plan.start = scan_lengthscales(model, *plan.algorithm, table, plan.start, plan.inference, trace);
}

/// Another start: one unit of standard deviation on the log scale, from R's generator.
void move_start(Context& context, const Vector& first, HyperTable& table) {
  Vector x = first;
  for (Index i = 0; i < x.size(); ++i) x[i] += table.transform(i).unit * context.monitor.normal();
  table.set_unconstrained(x.cwiseMax(table.lower()).cwiseMin(table.upper()));
}

/// Searches from all starts, and from some more where the best of them has missed fast changes; `best` is the fit of the
/// best so far, `which` its number and `last` that of the last search.
void search(LatentGaussianModel& model, HyperTable& table, const Plan& plan, Starts& starts, Fit& best,
            int& which, int& last, Trace& trace) {
  const Vector first = table.unconstrained();
  for (int s = 0; s < plan.starts; ++s) {
    if (s > 0) move_start(model.context(), first, table);
    last = s;
    trace.search(s + 1);
    HyperControl hyper = plan.hyper;
    if (s > 0) hyper.hessian.reset();
    Fit found = fit_hyper(model, *plan.algorithm, table, plan.learn, s == 0 ? plan.start : std::nullopt,
                          plan.inference, hyper, trace);
    starts.keep(s, found);
    if (s > 0 && !(found.objective > best.objective)) continue;
    best = std::move(found);
    which = s;
  }
  if (!plan.learn || plan.algorithm->learn || !plan.pilots.empty() || !model.has_all_rows()) return;
  const auto search_from = [&](const std::vector<Vector>& more) {
    for (const Vector& x : more) {
      starts.add(table.size());
      table.set_unconstrained(x);
      trace.search(++last + 1);
      HyperControl hyper = plan.hyper;
      hyper.hessian.reset();
      try {
        Fit found = fit_hyper(model, *plan.algorithm, table, true, std::nullopt, plan.inference, hyper, trace);
        starts.keep(last, found);
        if (!(found.objective > best.objective)) continue;
        best = std::move(found);
        which = last;
      } catch (const std::domain_error&) {  // no posterior there
      }
    }
  };
  if (plan.starts == 1) search_from(starts_of_few_rows(model, table, first));
  table.set_values(best.hyper);
  search_from(starts_of_faster_process(model, table, best.inference.posterior, first));
}

/// Model and table return to the best of the searches, or to where these were stopped.
void settle(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const Stop& stop, int which,
            int last, Fit& best, Trace& trace) {
  if (stop.reason == Stop::rows) {
    best = fit_of_rows_so_far(model, table);
  } else if (stop.reason == Stop::time) {
    best = fit_of_best_so_far(model, *plan.algorithm, table, plan.start, plan.inference, trace);
  } else if (which != last) {  // they stand where the last search ended
    table.set_values(best.hyper);
    model.update(best.hyper);
    trace.search(which + 1);
    best.inference = plan.algorithm->run(model, best.inference.posterior.start(), plan.inference, trace);
  }
  if (!best.inference.message.empty()) throw std::domain_error(best.inference.message);
}

/// A state at other hyperparameters, from the sites of the mode; empty where there is no posterior. `evidence` may be null.
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

/// Where the posterior of the hyperparameters is.
struct Mode {
  Fit fit;
  State state;
  std::optional<HyperPosterior> posterior;
  Matrix slope;  // of the means asked for in what is free there; empty where it is not known.   L x m
};

/// The means of a posterior whose slopes are wanted, as one vector.
using MeansOf = std::function<Vector(const Posterior& q)>;

/// From the result of the search. proper: with weak priors where the search had none. `means` may be empty. Table and model
/// end at the mode.
Mode mode_of(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const FitResult& found,
             bool proper, const MeansOf& means) {
  Mode out{found.fit, found.state, {}, {}};
  Trace aside(model.context());
  aside.stage(Stage::silent);
  if (proper && plan.proper) {
    const Cost cost = model.context().cost;
    const HyperTable learned = table;
    table = *plan.proper;
    try {
      table.set_values(table.away_from_bounds(found.fit.hyper));
      model.update(table.values());
      InferenceControl control = plan.inference;
      control.one_start = true;
      // the mode is near, and a search without a Hessian tries places far away first
      const Algorithm& algorithm = choose(plan.method, model);
      const Start start = found.fit.inference.posterior.start();
      HyperControl hyper = plan.hyper;
      hyper.hessian = search_hessian(model, algorithm, table, start, control);
      out.fit = fit_hyper(model, algorithm, table, true, start, control, hyper, aside);
      if (!out.fit.inference.message.empty()) throw std::domain_error(out.fit.inference.message);
      out.state = state_of(model, out.fit.inference.posterior, plan.keep_factor);
    } catch (const std::domain_error&) {  // the fit is as good without it
      out.fit = found.fit;
      out.state = found.state;
      table = learned;
      model.update(table.values());
    }
    model.context().cost = cost;
  }
  std::vector<Vector> up, down;
  const SideVisit visit = [&](Index, double move, const Posterior& q) {
    (move > 0 ? up : down).push_back(means(q) / (2 * std::abs(move)));
  };
  const std::vector<bool> at_bound = table.at_bound();
  const Curvature curvature =
      curvature_at(model, *plan.algorithm, table, plan.curvature, out.fit.inference.posterior.start(),
                   plan.inference, means ? visit : SideVisit());
  out.posterior = normal_posterior(curvature, at_bound);
  if (!means || !out.posterior || up.empty() || up.size() != curvature.which.size() ||
      down.size() != up.size())
    return out;
  out.slope.resize(up.front().size(), out.posterior->size());
  Index column = 0;
  for (std::size_t i = 0; i < up.size(); ++i)
    if (column < out.posterior->size() && out.posterior->free[column] == curvature.which[i])
      out.slope.col(column++) = up[i] - down[i];
  return out;
}

bool gaussian_given_hyper(const LatentGaussianModel& model) {
  return model.likelihood().conjugate() && model.latents() == 1;
}

/// The mixture over the points of an integration, by weights of the log evidence as far as it is known, the mode first;
/// false where the mode proves to be none.
bool integrate(LatentGaussianModel& model, HyperTable& table, Plan plan, const Mode& mode, FitResult& out) {
  const Posterior& q = mode.fit.inference.posterior;
  const Start start = q.visit(Overloaded{[](const SitePosterior& own) { return Start(own.sites); },
                                         [](const SumsPosterior& own) { return Start(own.sites.q); }});
  const Vector values = mode.fit.hyper;
  plan.inference.one_start = true;
  HyperPosterior posterior = *mode.posterior;
  std::vector<WeightedState> states;
  int fits = 0;
  model.update(values);
  // an algorithm with a gradient of its own has an evidence of its own
  const EvidenceAboveBound evidence =
      plan.algorithm->gradient ? EvidenceAboveBound() : EvidenceAboveBound(model, q);
  const double at_mode = evidence(model, q);
  const Fall fall = [&](const Vector& z, bool point) -> std::optional<double> {
    if (point && z.isZero(0)) {
      states.push_back({0, mode.fit, mode.state, at_mode});
      return 0;
    }
    const Vector x = posterior.place(z);
    if (!posterior.in_range(x)) return std::nullopt;
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    model.context().monitor.report({"Integrating over the hyperparameters", ++fits, none, none});
    table.set_values(values);
    std::optional<WeightedState> found = state_at(model, table, plan, x, start, &evidence);
    if (!found) return std::nullopt;
    const double below = mode.fit.objective + at_mode - found->fit.objective - found->above;
    if (point) states.push_back(std::move(*found));
    return below;
  };
  const Cost cost = model.context().cost;
  std::optional<MarginalStates> marginal;
  if (plan.integrate == "auto" && posterior.size() > most_on_grid && gaussian_given_hyper(model))
    marginal = marginal_states(model, table, posterior);
  if (marginal)
    integrate_at(posterior, marginal->z, marginal->weight, mode.fit.objective, fall);
  else
    integrate(posterior, plan.integrate, mode.fit.objective, fall);
  model.context().cost = cost;
  // points lie by the curvature at the mode, which is that of no place so much higher
  constexpr double most_above = 20;
  if (posterior.log_density.maxCoeff() > mode.fit.objective + most_above) return false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].weight = posterior.weight[i];
    posterior.log_evidence -=
        states[i].weight * (states[i].above - at_mode);  // the bound of the mixture with these weights
    out.converged = out.converged && has_converged(states[i].fit);
  }
  out.states = std::move(states);
  out.hyper_posterior = std::move(posterior);
  out.uncertainty.method = Uncertainty::states;
  return true;
}

/// Is a mixture of states over so many hyperparameters worth its time and memory?
enum class States { no, where_uncertain, yes };

/// Of few coefficients, yes. With more of them, or processes and fields beside groups, only where some hyperparameter is
/// known so badly that standard deviations show it, as the variance of a few groups is.
States takes_states(const LatentGaussianModel& model, Joint joint, Index parameters) {
  constexpr Index most_rows = 20000, most_full = 500, most_coefficients = 300;
  // a composite design of more than eight dimensions has 150 points or more, each with a state
  constexpr Index few_rows = 1000;
  const Index most_parameters = model.rows() <= few_rows ? 12 : 8;
  if (parameters == 0 || parameters > most_parameters || !model.has_all_rows() ||
      model.rows() > (model.full() ? most_full : most_rows))
    return States::no;
  // a joint Gaussian is as good, and takes less time
  constexpr Index most_thresholds = 6, most_ordered_rows = 2000;
  bool few = joint != Joint::ordered || (parameters <= most_thresholds && model.rows() <= most_ordered_rows);
  for (const auto& part : model.priors()) {
    Index coefficients = 0;
    for (const auto& term : *part.prior) {
      few = few && term->has_plain_design();
      coefficients += coefficient_count(*term);
    }
    few = few && (coefficients <= most_coefficients || gaussian_given_hyper(model));
  }
  return few ? States::yes : States::where_uncertain;
}

/// The coefficients of terms with columns, all of them one after the other.
Vector column_means(const State& state) {
  std::vector<double> out;
  for (const TermCoefficients& term : state.coefficients)
    out.insert(out.end(), term.mean.data(), term.mean.data() + term.mean.size());
  return Eigen::Map<const Vector>(out.data(), static_cast<Index>(out.size()));
}
Vector column_variances(const State& state) {
  std::vector<double> out;
  for (const TermCoefficients& term : state.coefficients)
    for (const Matrix& covariance : term.covariance)
      for (Index i = 0; i < covariance.rows(); ++i) out.push_back(covariance(i, i));
  return Eigen::Map<const Vector>(out.data(), static_cast<Index>(out.size()));
}

/// Are standard deviations some per cent too small given the hyperparameters: because one of these is known badly on the
/// log scale, as a variance that is estimated as zero is, or because it moves coefficients, as the variance of groups moves
/// the intercept of small counts? The mode's slope is that of column_means().
bool is_uncertain(const Mode& mode, const HyperTable& table) {
  constexpr double wide = 0.15, most_share = 0.05;
  const std::vector<bool> at_bound = table.at_bound();
  for (Index i = 0; i < table.learned(); ++i)
    if (table.limited(i) && at_bound[table.learned_positions()[i]]) return true;
  if (!mode.posterior) return false;
  if (mode.posterior->axes.rowwise().norm().maxCoeff() > wide) return true;
  if (mode.slope.size() == 0) return false;
  const Vector more = (mode.slope * mode.posterior->axes).rowwise().squaredNorm();
  return (more.array() > most_share * column_variances(mode.state).array()).any();
}

/// The joint Gaussian of coefficients and of what is free, of which the coefficients' means are linear functions.
/// given: the coefficients at the mode
CoefficientGaussian joint_at_mode(const Mode& mode, const CoefficientGaussian& given) {
  const Index L = given.mean.size(), m = mode.posterior ? mode.posterior->size() : 0;
  CoefficientGaussian out{Vector(L + m), Matrix::Zero(L + m, L + m)};
  out.mean.head(L) = given.mean;
  out.covariance.topLeftCorner(L, L) = given.covariance;
  if (m == 0) return out;
  const Matrix covariance = mode.posterior->axes * mode.posterior->axes.transpose();
  for (Index i = 0; i < m; ++i) out.mean[L + i] = mode.posterior->value[mode.posterior->free[i]];
  out.covariance.bottomRightCorner(m, m) = covariance;
  if (mode.slope.size() > 0) {
    out.covariance.topLeftCorner(L, L) += mode.slope * covariance * mode.slope.transpose();
    out.covariance.topRightCorner(L, m) = mode.slope * covariance;
    out.covariance.bottomLeftCorner(m, L) = covariance * mode.slope.transpose();
  }
  return out;
}

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

/// Are priors of coefficients what makes the joint posterior far from every Gaussian: is the posterior Gaussian given
/// hyperparameters, but for heavy tails, or do coefficients have a learned scale, given which they are nearer to one? States
/// are then near it.
bool gaussian_but_for_priors(const LatentGaussianModel& model) {
  const Mixed* mixed = model.likelihood().mixed();
  if (model.latents() != 1 || !mixed || !mixed->has_priors()) return false;
  const auto& parts = mixed->parts();
  return parts.front()->conjugate() ||
         std::any_of(parts.begin() + 1, parts.end(), [](const auto& prior) { return prior->has_hyper(); });
}

/// What is uncertain beside q: hyperparameters, and how latent values depend on each other.
void find_uncertainty(LatentGaussianModel& model, const HyperTable& learned, const Plan& plan,
                      FitResult& out) {
  constexpr Index most_parameters = 50, most_coefficients = 300, most_coupled = 1000;
  HyperTable table = learned;
  const Index parameters = plan.learn ? learned.learned() : 0;
  const bool wanted = plan.joint != Joint::nowhere && plan.integrate.empty();
  const bool coupled =
      wanted && model.latents() > 1 && model.has_all_rows() && couples(model, out.fit.inference.posterior);
  const bool joint = wanted && (coupled || plan.joint != Joint::coupled);
  const bool exact = gaussian_given_hyper(model);
  const States takes = joint && !coupled ? takes_states(model, plan.joint, parameters) : States::no;
  bool states = takes == States::yes;
  // A joint Gaussian where rows are too many for points and states. They know the noise of a linear model well enough.
  const bool gaussian = coupled || (!states && !(exact && parameters == 1));
  std::optional<Unknowns> unknowns;
  const bool together = joint && plan.joint != Joint::states;
  const bool many = coupled || plan.joint == Joint::ordered || parameters > most_axes;
  if (together && (parameters > 0 || coupled) && (gaussian || !exact))
    unknowns = Unknowns::of(model, !gaussian ? most_unknowns : many ? most_coupled : most_coefficients);
  else if (together && parameters == 0 && !exact)
    unknowns = skew_unknowns(model, out.fit.inference.posterior);
  const bool points = unknowns && !exact && takes_points(unknowns->size() + parameters, model.rows());
  const bool responds = unknowns && gaussian && parameters <= most_parameters;
  const bool perhaps = takes == States::where_uncertain && !points && !responds;
  MeansOf means;
  if (points || responds)
    means = [&](const Posterior& q) { return unknowns->mean(q); };
  else if (perhaps)
    means = [&](const Posterior& q) { return column_means(state_of(model, q, false)); };
  Mode mode{out.fit, out.state, {}, {}};
  if (parameters > 0)
    mode = mode_of(model, table, plan, out, points || responds || states || !plan.integrate.empty(), means);
  if (perhaps && is_uncertain(mode, table)) {
    states = true;
    mode = mode_of(model, table, plan, out, true, {});
  }
  if (mode.posterior) {
    HyperTable at = learned;
    at.set_values(out.fit.hyper);
    mode.posterior->estimate = at.unconstrained();
  }
  out.hyper_posterior = mode.posterior;
  const bool known = parameters == 0 || mode.posterior;
  Uncertainty& told = out.uncertainty;
  if (!plan.integrate.empty() && mode.posterior && !integrate(model, table, plan, mode, out))
    throw std::domain_error(
        "the posterior of the hyperparameters has no end that was found, as their density is far higher "
        "elsewhere than "
        "at the mode: give them and the coefficients priors, as the argument `prior`, or use hyper = "
        "\"optimise\"");
  if (points && known) {
    model.update(table.values());
    told.points_found = points_from(*unknowns, table, plan, mode);
    if (told.points_found && told.points_found->believed())
      told.method = Uncertainty::points;
    else if ((!told.points_found || told.points_found->hopeless()) && !gaussian_but_for_priors(model))
      told.refused = "the joint posterior of all that is uncertain is far from every Gaussian";
  }
  if (responds && known && told.method == Uncertainty::factorised) {
    model.update(table.values());
    respond(model, table, plan, mode, *unknowns, coupled || parameters == 0, out);
  }
  if (states && mode.posterior && told.method == Uncertainty::factorised) {
    Plan with_states = plan;
    // a grid of more dimensions takes several times as long as the fit of many rows
    constexpr Index few_rows = 1000, few_axes = 2;
    const bool cheap = takes == States::yes || model.rows() <= few_rows || mode.posterior->size() <= few_axes;
    with_states.integrate = cheap ? "auto" : "ccd";
    if (!integrate(model, table, with_states, mode, out))
      told.refused =
          "the density of the hyperparameters is far higher elsewhere than at the mode that was found";
  }
  model.update(out.fit.hyper);
}

}  // namespace

void Starts::add(Index hypers) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Index count = objective.size();
  hyper.conservativeResize(count + 1, hypers);
  hyper.row(count).setConstant(none);
  objective.conservativeResize(count + 1);
  objective[count] = none;
  converged.push_back(false);
}

void Starts::keep(int s, const Fit& found) {
  hyper.row(s) = found.hyper.transpose();
  objective[s] = found.objective;
  converged[s] = has_converged(found);
}

FitResult fit(LatentGaussianModel& model, HyperTable& table, Plan plan, Trace& trace) {
  FitResult out;
  for (int s = 0; s < plan.starts; ++s) out.starts.add(table.size());
  int which = 0, last = 0;
  out.stop = until_stopped(model, [&] {
    if (!plan.pilots.empty())
      pilot(model, table, plan);
    else
      scan(model, table, plan, trace);
    search(model, table, plan, out.starts, out.fit, which, last, trace);
  });
  // The result is made from what was found, however late it is.
  settle(model, table, plan, out.stop, which, last, out.fit, trace);
  const Posterior& q = out.fit.inference.posterior;
  out.state = state_of(model, q, plan.keep_factor);
  if (plan.checked) out.prediction_error = prediction_error(model, q, out.state.states, *plan.checked);
  for (Index k = 0; k < model.latents(); ++k) out.jitter = std::max(out.jitter, model.solver(k).jitter());
  out.cost = model.context().cost;
  out.at_bound = table.at_bound();
  out.converged = has_converged(out.fit);
  if ((plan.learn || plan.joint != Joint::nowhere) && !out.stop) {
    trace.settle({out.fit.hyper, q.start(), q->elbo});
    const Stop late = until_stopped(model, [&] { find_uncertainty(model, table, plan, out); });
    // what was not finished is not kept
    if (late) {
      out.states.clear();
      out.uncertainty = {};
      out.uncertainty.unfinished = true;
    }
    // a fit is complete as q at the estimates, not so without the integration that it was asked for
    if (late.reason != Stop::time || !plan.integrate.empty()) out.stop = {late.reason, late.failure, true};
  }
  out.converged = out.converged && !out.stop;
  out.message = message_of(out.fit, plan.inference, out.stop);
  return out;
}

}  // namespace galvi
