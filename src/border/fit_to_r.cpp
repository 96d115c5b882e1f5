#include "border/fit_to_r.h"

#include <algorithm>
#include <cmath>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/named_list.h"
#include "numeric/backend.h"

namespace galvi {

Rcpp::List trace_to_r(const Trace& trace) {
  const auto& rows = trace.rows();
  const int n = static_cast<int>(rows.size());
  Rcpp::IntegerVector iteration(n), start(n), step(n), factorisations(n), products(n), sweeps(n);
  Rcpp::NumericVector seconds(n), flops(n), elbo(n), gap(n), visited(n);
  for (int i = 0; i < n; ++i) {
    iteration[i] = rows[i].iteration;
    start[i] = rows[i].start;
    step[i] = rows[i].step == TraceRow::no_step ? NA_INTEGER : rows[i].step;
    seconds[i] = rows[i].seconds;
    flops[i] = rows[i].cost.flops;
    elbo[i] = rows[i].elbo;
    gap[i] = std::isnan(rows[i].gap) ? NA_REAL : rows[i].gap;
    factorisations[i] = rows[i].cost.factorisations;
    products[i] = rows[i].cost.products;
    sweeps[i] = rows[i].cost.sweeps;
    visited[i] = rows[i].cost.rows;
  }
  Rcpp::List out = Rcpp::List::create(
      Rcpp::_["iteration"] = iteration, Rcpp::_["seconds"] = seconds, Rcpp::_["flops"] = flops, Rcpp::_["elbo"] = elbo,
      Rcpp::_["gap"] = gap, Rcpp::_["factorisations"] = factorisations, Rcpp::_["products"] = products,
      Rcpp::_["sweeps"] = sweeps, Rcpp::_["rows"] = visited, Rcpp::_["start"] = start, Rcpp::_["step"] = step);
  // Rcpp::DataFrame calls R's as.data.frame(), which takes as long as the search of a small fit
  out.attr("class") = "data.frame";
  out.attr("row.names") = Rcpp::IntegerVector::create(NA_INTEGER, -n);
  return out;
}

namespace {

/// c of the rows and the like: NULL if there is none.
Rcpp::RObject or_null(const Matrix& X) {
  if (X.size() == 0) return R_NilValue;
  return to_r(X);
}

/// The latent vectors, list(mean, chol) each; NULL where none is state.
Rcpp::RObject latent_to_r(const std::vector<SolverState>& states) {
  Rcpp::List out(states.size());
  bool any = false;
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (states[k].latent_mean.size() == 0) continue;
    any = true;
    out[k] = Rcpp::List::create(Rcpp::_["mean"] = to_r(states[k].latent_mean),
                                Rcpp::_["chol"] = to_r(states[k].latent_chol));
  }
  if (!any) return R_NilValue;
  return out;
}

Rcpp::RObject factor_to_r(const std::vector<SolverState>& states) {
  Rcpp::List out(states.size());
  bool any = false;
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (states[k].factor.size() == 0) continue;
    any = true;
    out[k] = to_r(states[k].factor);
  }
  if (!any) return R_NilValue;
  return out;
}

Rcpp::List coefficients_to_r(const std::vector<TermCoefficients>& terms) {
  Rcpp::List out;
  for (const TermCoefficients& term : terms) {
    Rcpp::List covariance;
    for (const Matrix& of_latent : term.covariance) covariance.push_back(to_r(of_latent));
    out.push_back(Rcpp::List::create(Rcpp::_["label"] = term.label, Rcpp::_["latents"] = positions_to_r(term.latents),
                                     Rcpp::_["mean"] = to_r(term.mean), Rcpp::_["covariance"] = covariance));
  }
  return out;
}

/// By label: mean (U x d) and covariance (d x d x U).
Rcpp::List units_to_r(const std::vector<TermUnits>& terms) {
  Rcpp::List out;
  for (const TermUnits& term : terms) {
    const Matrix& covariance = term.moments.covariance;
    const int d = static_cast<int>(term.moments.mean.rows()), units = static_cast<int>(covariance.cols());
    Rcpp::NumericVector array(covariance.data(), covariance.data() + covariance.size());
    array.attr("dim") = Rcpp::IntegerVector::create(d, d, units);
    out.push_back(Rcpp::List::create(Rcpp::_["mean"] = to_r(Matrix(term.moments.mean.transpose())),
                                     Rcpp::_["covariance"] = array),
                  term.label);
  }
  return out;
}

Rcpp::List cost_to_r(const Cost& cost) {
  return Rcpp::List::create(Rcpp::_["flops"] = cost.flops, Rcpp::_["factorisations"] = cost.factorisations,
                            Rcpp::_["products"] = cost.products, Rcpp::_["sweeps"] = cost.sweeps);
}

/// What is kept of the posterior of a fit. The last rows, as many as are priors of coefficients, are kept apart.
NamedList posterior_to_r(const Fit& fit, const State& state, Index prior_rows) {
  const auto data = [&](const Matrix& x) { return x.size() > 0 ? Matrix(x.topRows(x.rows() - prior_rows)) : x; };
  const auto priors = [&](const Matrix& x) { return to_r(Matrix(x.bottomRows(prior_rows))); };
  const Posterior& q = fit.inference.posterior;
  NamedList out;
  out["coefficients"] = coefficients_to_r(state.coefficients);
  out["latent"] = latent_to_r(state.coupling ? state.coupling->states : state.states);
  out["factor"] = factor_to_r(state.states);
  out["coupled"] = state.coupling ? SEXP(to_r(state.coupling->covariance)) : R_NilValue;
  if (state.coupling) out["factorised"] = latent_to_r(state.states);
  q.visit(Overloaded{[](const SitePosterior&) {},
                     [&](const SumsPosterior& own) { out["global"] = global_to_r(*own.sites.q); }});
  if (!state.units.empty()) out["units"] = units_to_r(state.units);
  out["mean"] = to_r(data(q->mean));
  out["variance"] = to_r(data(state.variance));
  out["alpha"] = to_r(data(q->alpha));
  out["lambda"] = to_r(data(q.sites().lambda));
  out["b"] = to_r(data(q.sites().b));
  out["extra"] = or_null(data(state.extra));
  if (prior_rows > 0)
    out["prior_rows"] = Rcpp::List::create(Rcpp::_["alpha"] = priors(q->alpha), Rcpp::_["b"] = priors(q.sites().b),
                                           Rcpp::_["lambda"] = priors(q.sites().lambda));
  out["hyper"] = to_r(fit.hyper);
  out["elbo"] = q->elbo;
  out["log_prior"] = fit.objective - q->elbo;
  return out;
}

}  // namespace

Rcpp::List hyper_posterior_to_r(const HyperPosterior& posterior) {
  Rcpp::List out = Rcpp::List::create(
      Rcpp::_["at"] = positions_to_r(posterior.at), Rcpp::_["value"] = to_r(posterior.value),
      Rcpp::_["estimate"] = to_r(posterior.estimate),
      Rcpp::_["lower"] = to_r(posterior.lower), Rcpp::_["upper"] = to_r(posterior.upper),
      Rcpp::_["free"] = positions_to_r(posterior.free), Rcpp::_["axes"] = to_r(posterior.axes),
      Rcpp::_["flat"] = positions_to_r(posterior.flat));
  if (posterior.design.empty()) return out;
  out["below"] = to_r(posterior.below);
  out["above"] = to_r(posterior.above);
  out["design"] = posterior.design;
  out["z"] = to_r(posterior.z);
  out["weight"] = to_r(posterior.weight);
  out["log_density"] = to_r(posterior.log_density);
  out["known"] = Rcpp::List::create(Rcpp::_["z"] = to_r(posterior.known_z), Rcpp::_["fall"] = to_r(posterior.known_fall));
  out["log_evidence"] = posterior.log_evidence;
  return out;
}

HyperPosterior hyper_posterior_from_list(const Rcpp::List& list) {
  constexpr auto damaged = "the posterior of the hyperparameters is damaged: its parts differ in size";
  HyperPosterior out;
  out.at = positions(field(list, "at"));
  out.value = get_vector(list, "value");
  out.lower = get_vector(list, "lower");
  out.upper = get_vector(list, "upper");
  out.free = positions(field(list, "free"));
  out.axes = get_matrix(list, "axes");
  out.flat = positions(field(list, "flat"));
  const auto all_below = [](const std::vector<Index>& at, Index end) {
    return std::all_of(at.begin(), at.end(), [end](Index i) { return i >= 0 && i < end; });
  };
  const auto m = out.size(), learned = out.value.size();
  if (out.lower.size() != learned || out.upper.size() != learned || !all_below(out.free, learned) ||
      !all_below(out.flat, m) || out.axes.rows() != m || out.axes.cols() != m)
    throw std::invalid_argument(damaged);
  if (!has(list, "design")) return out;
  out.design = get<std::string>(list, "design");
  out.below = get_vector(list, "below");
  out.above = get_vector(list, "above");
  out.z = get_matrix(list, "z");
  out.weight = get_vector(list, "weight");
  const Rcpp::List known = get<Rcpp::List>(list, "known");
  out.known_z = get_matrix(known, "z");
  out.known_fall = get_vector(known, "fall");
  if (out.z.rows() == 0 || out.weight.size() != out.z.rows() || out.known_fall.size() != out.known_z.rows())
    throw std::invalid_argument(damaged);
  return out;
}

namespace {

/// list(method, rounds, efficiency, tail, rho, refused, unfinished), and `points` where there are some, believed or not.
Rcpp::List uncertainty_to_r(const Uncertainty& found) {
  const auto& points = found.points_found;
  const char* method[] = {"factorised", "points", "states", "response"};
  Rcpp::List out = Rcpp::List::create(
      Rcpp::_["method"] = method[found.method], Rcpp::_["rounds"] = points ? points->rounds : 0,
      Rcpp::_["efficiency"] = points ? points->efficiency : NA_REAL,
      Rcpp::_["tail"] = points ? points->tail : NA_REAL, Rcpp::_["moved"] = points ? points->moved : NA_REAL,
      Rcpp::_["rho"] = std::isnan(found.radius) ? NA_REAL : found.radius, Rcpp::_["refused"] = found.refused,
      Rcpp::_["unfinished"] = found.unfinished);
  if (points)
    out["points"] = Rcpp::List::create(Rcpp::_["coefficients"] = to_r(points->coefficients),
                                       Rcpp::_["hyper"] = to_r(points->hyper),
                                       Rcpp::_["weight"] = to_r(points->weight));
  if (const auto& response = found.response_found) {
    const Index S = response->coefficients.rows();
    out["response"] = Rcpp::List::create(
        Rcpp::_["coefficients"] = to_r(response->coefficients), Rcpp::_["hyper"] = to_r(response->hyper),
        Rcpp::_["weight"] = to_r(Vector(Vector::Constant(S, 1 / static_cast<double>(S)))));
  }
  return out;
}

}  // namespace

Rcpp::List fit_to_r(const LatentGaussianModel& model, const FitResult& result, const Algorithm& algorithm,
                    const Trace& trace) {
  const Stationarity& s = result.fit.inference.stationarity;
  Rcpp::List states;
  for (const WeightedState& one : result.states)
    states.push_back(
        Rcpp::List::create(Rcpp::_["weight"] = one.weight,
                           Rcpp::_["posterior"] = posterior_to_r(one.fit, one.state, model.prior_rows()).list()));
  NamedList out = posterior_to_r(result.fit, result.state, model.prior_rows());
  out["uncertainty"] = uncertainty_to_r(result.uncertainty);
  out["method"] = algorithm.name;
  out["expectation"] = model.expectation().name();
  out["at_bound"] = Rcpp::wrap(result.at_bound);
  out["trace"] = trace_to_r(trace);
  out["converged"] = result.converged;
  out["out_of_time"] = result.stop.reason == Stop::time;
  out["message"] = result.message;
  if (result.stop.reason == Stop::rows) out["failure"] = result.stop.failure;
  out["gradient_norm"] = s.norm;
  out["gap"] = std::isnan(s.certificate) ? NA_REAL : s.gap();
  out["rounding"] = s.rounding;
  if (model.remembered()) out["penalty"] = model.remembered()->penalty;
  if (result.prediction_error) out["prediction_error"] = *result.prediction_error;
  out["jitter"] = result.jitter;
  out["backend"] = model.context().backend.name();
  out["cost"] = cost_to_r(result.cost);
  if (result.starts.objective.size() > 1) {
    out["starts"] = Rcpp::List::create(Rcpp::_["elbo"] = to_r(result.starts.objective),
                                       Rcpp::_["converged"] = Rcpp::wrap(result.starts.converged),
                                       Rcpp::_["hyper"] = to_r(result.starts.hyper));
  }
  if (result.hyper_posterior) out["hyper_posterior"] = hyper_posterior_to_r(*result.hyper_posterior);
  if (!result.states.empty()) out["states"] = states;
  return out.list();
}

CheckedRows checked_from_list(const Rcpp::List& list) {
  CheckedRows out{positions(field(list, "at")), {}};
  for (const auto& design : get<Rcpp::List>(list, "rows")) out.designs.push_back(design_from_list(design));
  return out;
}

Rcpp::List global_to_r(const GlobalPosterior& q) {
  Rcpp::List out;
  for (const LatentPosterior& part : q)
    out.push_back(Rcpp::List::create(Rcpp::_["mean"] = to_r(part.mean), Rcpp::_["precision"] = to_r(part.precision)));
  return out;
}

GlobalPosterior global_from_list(const LatentGaussianModel& model, const Rcpp::List& list) {
  GlobalPosterior out;
  for (Index k = 0; k < model.latents(); ++k) {
    const Rcpp::List part = Rcpp::List(list).at(k);
    const Prior& prior = *model.predictor(k).prior;
    Vector mean = get_vector(part, "mean");
    Matrix precision = get_matrix(part, "precision");
    if (mean.size() != prior.columns() || precision.rows() != mean.size() || precision.cols() != mean.size())
      throw std::invalid_argument("`start` has other latent vectors than the model");
    auto q = make_latent_posterior(model.context(), prior, std::move(mean), std::move(precision));
    if (!q) throw std::invalid_argument("a precision in `start` is not positive definite");
    out.push_back(std::move(*q));
  }
  return out;
}

}  // namespace galvi
