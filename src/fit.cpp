// The border: fit_model(), and why methods refuse a model.
#include <Rcpp/Lightest>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "border/fit_to_r.h"
#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "global/global_model.h"
#include "hyper/curvature.h"
#include "hyper/scan.h"
#include "inference/several_starts.h"
#include "numeric/backend.h"

namespace {

using namespace galvi;

std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  return text;
}

std::string message_of(const Fit& fit, const InferenceControl& control) {
  std::string out;
  if (!fit.inference.converged) {
    const double reached = fit.inference.stationarity.measure();
    out = "inference stopped " +
          (fit.inference.iterations >= control.max_iterations ? "at max_iterations" : fit.inference.stop) +
          (std::isnan(fit.inference.stationarity.certificate)
               ? " with a stationarity measure of " + digits(reached)
               : ", up to " + digits(reached) + " below the maximum of the bound") +
          "; raise max_iterations or tol, or try another method";
  }
  if (!fit.inference.note.empty()) out += (out.empty() ? "" : "; ") + fit.inference.note;
  if (!fit.hyper_message.empty()) out += (out.empty() ? "" : "; ") + fit.hyper_message;
  return out;
}

/// What "auto" stands for where inducing points are learned from many rows: a thousand coordinates take L-BFGS
/// hundreds of full passes, minibatches some tens. Where these passes are short, their higher bound is worth
/// the time (bench/minibatches.R, bench/flights.R, bench/digits.R).
const Algorithm& choose_to_learn(const LatentGaussianModel& core, const HyperTable& table) {
  constexpr double many = 1000, much = 1e8;
  const double coordinates = static_cast<double>(table.is_place().count());
  const bool by_minibatches = coordinates > many && coordinates * static_cast<double>(core.observations()) > much;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.learn && by_minibatches && algorithm.refuses(core).empty()) return algorithm;
  return choose_algorithm("auto", core);
}

/// Learns from part of the rows, `part`, where learning from all of them starts: it costs little, and leaves
/// little to learn. Part of the rows may say that an input does not matter, and there the bound of all rows is
/// flat too: hyperparameters other than places go no further than a factor of e^2.
void learn_from_part(LatentGaussianModel& part, const std::string& method, InferenceControl inference,
                     HyperTable& table) {
  constexpr double rough = 1e-3;  // nats; what part of the rows says is off by more
  constexpr double reach = 2;
  const Vector before = table.values(), from = table.unconstrained();
  part.update(before);
  HyperControl hyper;
  inference.tol = std::max(inference.tol, rough);
  hyper.tol = 3e-6;
  Trace aside(part.context());
  try {
    fit_hyper(part, choose_algorithm(method, part), table, true, std::nullopt, inference, hyper, aside);
    Vector x = table.unconstrained();
    for (Index i = 0; i < x.size(); ++i)
      if (!table.is_place()[i]) x[i] = std::clamp(x[i], from[i] - reach, from[i] + reach);
    table.set_unconstrained(x);
  } catch (const std::domain_error&) {
    table.set_values(before);  // all rows may do better
  }
}

/// Where inference from all rows starts if its bound may have several optima: at the best that `part` of the
/// rows finds from several starts, each row standing for as many as there are. Empty where the bound is known
/// to have one optimum, or the part has no posterior.
std::optional<Sites> start_from_part(const LatentGaussianModel& core, LatentGaussianModel& part,
                                     const Algorithm& algorithm, InferenceControl control) {
  constexpr double rough = 1e-3;  // nats
  if (core.one_optimum() || !core.expectation().consistent() || !core.sums_suffice()) return std::nullopt;
  part.update(core.hyper());
  control.tol = std::max(control.tol, rough);
  Trace aside(part.context());
  try {
    const InferenceResult found =
        best_of_starts(part, algorithm, algorithm.run(part, std::nullopt, control, aside), control, aside);
    const double copies = static_cast<double>(core.observations()) / static_cast<double>(part.rows());
    auto q = GlobalModel(part).posterior_of(found.posterior.sites, copies);
    if (q) return from_here(std::move(*q));
  } catch (const std::domain_error&) {
  }
  return std::nullopt;
}

/// Where the learned hyperparameters are on the unconstrained scale, and how sharply: `wanted` has the positions in
/// the table whose curvature is to be known, which moves the model.
Rcpp::List internal_to_r(LatentGaussianModel& core, const Algorithm& algorithm, HyperTable& table,
                         const std::vector<Index>& wanted, const Sites& mode,
                         const InferenceControl& control) {
  const std::vector<Index>& learned = table.learned_positions();
  Rcpp::IntegerVector at(learned.size());
  std::vector<Index> which;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    at[i] = static_cast<int>(learned[i]) + 1;
    if (std::find(wanted.begin(), wanted.end(), learned[i]) != wanted.end())
      which.push_back(static_cast<Index>(i));
  }
  Rcpp::List out =
      Rcpp::List::create(Rcpp::_["at"] = at, Rcpp::_["value"] = to_r(table.unconstrained()),
                         Rcpp::_["lower"] = to_r(table.lower()), Rcpp::_["upper"] = to_r(table.upper()));
  if (which.empty()) return out;
  const Cost cost = core.context().cost;
  if (const auto hessian = objective_hessian(core, algorithm, table, which, mode, control)) {
    Rcpp::IntegerVector rows(which.size());
    for (std::size_t i = 0; i < which.size(); ++i) rows[i] = static_cast<int>(which[i]) + 1;
    out["which"] = rows;
    out["hessian"] = to_r(*hessian);
  }
  core.context().cost = cost;  // what a fit costs is what the search does
  return out;
}

/// What was found before the rows did not come any more.
Fit fit_of_rows_so_far(LatentGaussianModel& core, HyperTable& table) {
  const RowSource::Reached& reached = *core.source()->reached;
  table.set_values(reached.hyper);
  core.update(reached.hyper);
  GlobalModel model(core);
  Fit out;
  out.inference.posterior = model.as_posterior(*reached.point);
  out.inference.stationarity = model.step_from(*reached.point).stationarity;
  out.hyper = table.values();
  out.objective = reached.point->elbo + table.log_prior();
  return out;
}

/// Where a search that began at `start` stood when its time was over, as a fit: one more iteration says what holds
/// there.
Fit fit_of_standing(LatentGaussianModel& core, const Algorithm& algorithm, HyperTable& table,
                    const std::optional<Sites>& start, const std::optional<Standing>& standing,
                    InferenceControl control, Trace& trace) {
  if (standing) table.set_values(standing->hyper);
  core.update(table.values());
  control.max_iterations = 1;
  control.one_start = true;
  Fit out;
  out.inference = algorithm.run(core, standing ? std::optional<Sites>(standing->sites) : start, control, trace);
  out.hyper = table.values();
  out.objective = out.inference.posterior.elbo + table.log_prior();
  return out;
}

/// From this fit_model() goes on another time, with `hyper` = "fixed": no number is computed any more.
Rcpp::List standing_to_r(const Standing& standing, const Algorithm& algorithm, const Trace& trace) {
  const Sites& sites = standing.sites;
  Rcpp::List start = sites.lambda.size() > 0
                         ? Rcpp::List::create(Rcpp::_["lambda"] = to_r(sites.lambda), Rcpp::_["b"] = to_r(sites.b))
                         : Rcpp::List::create(Rcpp::_["global"] = global_to_r(sites.asking->q));
  return Rcpp::List::create(Rcpp::_["hyper"] = to_r(standing.hyper), Rcpp::_["start"] = start,
                            Rcpp::_["method"] = algorithm.name, Rcpp::_["trace"] = trace_to_r(trace));
}

void keep_if_stopped(SEXP keep, const LatentGaussianModel& core, const Algorithm& algorithm, const Trace& trace) {
  if (Rf_isNull(keep) || !trace.standing() || core.source()) return;
  const Rcpp::Function to_r(keep);
  to_r(standing_to_r(*trace.standing(), algorithm, trace));
}

}  // namespace

//' Fit a model described as a list (internal; its fields are documented in R/model-list.R)
//' @param keep NULL, or a function that is called with what standing_to_r() gives if an interrupt or an error of R
//'   stops the fit.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List fit_model(Rcpp::List model, std::string method, std::string hyper, Rcpp::List control,
                     Rcpp::Nullable<Rcpp::List> start = R_NilValue, SEXP report = R_NilValue,
                     SEXP keep = R_NilValue) {
  RMonitor monitor(report, has(control, "max_seconds") ? get<double>(control, "max_seconds") : R_PosInf);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model, automatic_expectation(method));
  HyperTable table = hyper_from_list(model);
  core.update(table.values());
  const bool learn = hyper == "optimise" && table.learned() > 0;
  const bool may_choose = method == "auto" && learn && has(model, "pilot");
  const Algorithm& algorithm = may_choose ? choose_to_learn(core, table) : choose_algorithm(method, core);
  InferenceControl inference = inference_control(control);
  Trace trace(context);

  std::optional<Sites> sites;
  if (start.isNotNull()) {
    const Rcpp::List s(start.get());
    if (has(s, "global")) {
      sites = Sites{{}, {}, global_from_list(core, s["global"])};
    } else {
      sites = Sites{get_matrix(s, "lambda"), get_matrix(s, "b")};
      if (sites->lambda.rows() != core.rows() || sites->b.rows() != core.rows()) sites.reset();
    }
  }

  const int number = learn ? std::max(1, get<int>(control, "starts")) : 1;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();  // of starts that the time was too short for
  Matrix points = Matrix::Constant(number, table.size(), none);
  Vector elbos = Vector::Constant(number, none);
  Rcpp::LogicalVector converged(number);
  Fit best;
  int best_start = 0;
  std::string failure;
  bool out_of_time = false;
  try {
    monitor.with_limit();
    if (has(model, "pilot")) {
      LatentGaussianModel part = model_from_list(context, model["pilot"], core.expectation().name());
      if (learn && !algorithm.learn) {
        Trace aside(context);
        scan_lengthscales(part, choose_algorithm(method, part), table, std::nullopt, inference, aside);
        if (table.is_place().any()) learn_from_part(part, method, inference, table);
        core.update(table.values());
      }
      if (!sites) sites = start_from_part(core, part, algorithm, inference);
      inference.one_start = inference.one_start || sites.has_value();
    } else if (learn && !algorithm.learn) {
      sites = scan_lengthscales(core, algorithm, table, sites, inference, trace);
    }
    const Vector first = table.unconstrained();
    for (int s = 0; s < number; ++s) {
      if (s > 0) {
        // further starts: one unit of standard deviation on the log scale, from R's generator
        Vector x = first;
        for (Index i = 0; i < x.size(); ++i) x[i] += table.transform(i).unit * monitor.normal();
        table.set_unconstrained(x.cwiseMax(table.lower()).cwiseMin(table.upper()));
      }
      trace.search(s + 1);
      Fit fit = fit_hyper(core, algorithm, table, learn, s == 0 ? sites : std::nullopt, inference,
                          hyper_control(control), trace);
      points.row(s) = fit.hyper.transpose();
      elbos[s] = fit.objective;
      converged[s] = fit.inference.converged && fit.hyper_converged;
      if (s == 0 || fit.objective > best.objective) {
        best = std::move(fit);
        best_start = s;
      }
    }
  } catch (const SourceFailure& e) {
    if (!core.source()->reached) throw;
    failure = e.what();
    best = fit_of_rows_so_far(core, table);
    best_start = number - 1;
  } catch (const OutOfTime&) {
    out_of_time = true;
    monitor.without_limit();
    best = fit_of_standing(core, algorithm, table, sites, trace.standing(), inference, trace);
    best_start = number - 1;
  } catch (const Rcpp::LongjumpException&) {  // an interrupt, or an error of R
    keep_if_stopped(keep, core, algorithm, trace);
    throw;
  }
  monitor.without_limit();  // the result is made from what was found, however late it is
  if (best_start != number - 1) {  // the table and the solvers stand at the last start
    table.set_values(best.hyper);
    core.update(best.hyper);
    trace.search(best_start + 1);
    best.inference = algorithm.run(core, best.inference.posterior.sites, inference, trace);
  }

  // now, while the solvers stand there
  const Rcpp::List units = units_to_r(core, best.inference.posterior);
  if (!best.inference.message.empty()) throw std::domain_error(best.inference.message);

  const Posterior& q = best.inference.posterior;
  const std::vector<SolverState> states = states_of(core, q, get<bool>(control, "keep_factor"));
  std::vector<SolverState> told = states;
  const Rcpp::RObject coupled = couple(core, q, told);
  Rcpp::List out = states_to_r(core, told);
  out["coupled"] = coupled;
  if (!coupled.isNULL()) out["factorised"] = Rcpp::List(states_to_r(core, states))["latent"];
  if (has(model, "checked")) out["prediction_error"] = prediction_error(core, q, states, model["checked"]);
  const Stationarity& s = best.inference.stationarity;
  double jitter = 0;
  for (Index k = 0; k < core.latents(); ++k) jitter = std::max(jitter, core.solver(k).jitter());
  const Cost& cost = context.cost;
  if (q.global) out["global"] = global_to_r(*q.global);
  if (units.size() > 0) out["units"] = units;
  out["method"] = algorithm.name;
  out["expectation"] = core.expectation().name();
  out["mean"] = to_r(q.mean);
  Matrix variance = q.variance;
  if (core.data().spread.size() > 0) variance.col(0) += core.data().spread;  // what was averaged over
  out["variance"] = to_r(variance);
  out["alpha"] = to_r(q.alpha);
  out["lambda"] = to_r(q.sites.lambda);
  out["b"] = to_r(q.sites.b);
  out["extra"] = extra_variances(core);
  out["hyper"] = to_r(best.hyper);
  out["at_bound"] = Rcpp::wrap(table.at_bound());
  out["elbo"] = q.elbo;
  out["log_prior"] = best.objective - q.elbo;
  out["trace"] = trace_to_r(trace);
  out["converged"] = best.inference.converged && best.hyper_converged && !out_of_time;
  out["out_of_time"] = out_of_time;
  out["message"] = out_of_time      ? "it stopped after `max_seconds`"
                   : failure.empty() ? message_of(best, inference)
                                     : "the rows could not be read to the end";
  if (!failure.empty()) out["failure"] = failure;
  out["gradient_norm"] = s.norm;
  out["gap"] = std::isnan(s.certificate) ? NA_REAL : s.gap();
  out["rounding"] = s.rounding;
  if (core.remembered()) out["penalty"] = core.remembered()->penalty;
  out["jitter"] = jitter;
  out["backend"] = context.backend.name();
  out["cost"] =
      Rcpp::List::create(Rcpp::_["flops"] = cost.flops, Rcpp::_["factorisations"] = cost.factorisations,
                         Rcpp::_["products"] = cost.products, Rcpp::_["sweeps"] = cost.sweeps);
  if (number > 1) {
    out["starts"] = Rcpp::List::create(Rcpp::_["elbo"] = to_r(elbos), Rcpp::_["converged"] = converged,
                                       Rcpp::_["hyper"] = to_r(points));
  }
  if (learn && failure.empty() && !out_of_time) {
    const std::vector<Index> wanted = has(model, "curvature") ? positions(model["curvature"]) : std::vector<Index>();
    monitor.with_limit();
    try {
      out["internal"] = internal_to_r(core, algorithm, table, wanted, q.sites, inference);
    } catch (const OutOfTime&) {  // a fit without intervals
    } catch (const Rcpp::LongjumpException&) {  // an interrupt, or an error of R
      keep_if_stopped(keep, core, algorithm, trace);
      throw;
    }
  }
  return out;
}

//' All hyperparameters on their natural scale (S x H) where the learned ones are at X on the unconstrained one
//' (S x learned) (internal)
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix natural_hyper(Rcpp::List model, Rcpp::NumericVector values, Rcpp::NumericMatrix X) {
  HyperTable table = hyper_from_list(model);
  const Matrix x = from_r(X);
  if (x.cols() != table.learned() || values.size() != table.size())
    throw std::invalid_argument("natural_hyper: sizes differ");
  Matrix out(x.rows(), table.size());
  for (Index s = 0; s < x.rows(); ++s) {
    table.set_values(from_r(values));
    table.set_unconstrained(x.row(s).transpose());
    out.row(s) = table.values().transpose();
  }
  return to_r(out);
}

// [[Rcpp::export(rng = false)]]
std::string galvi_backend(std::string name = "auto") { return galvi::backend(name).name(); }

//' Why each method cannot fit this model; "" where it can
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector inference_refusals(Rcpp::List model) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, 1};
  const Vector hyper = hyper_from_list(model).values();
  Rcpp::CharacterVector out;
  for (const auto& algorithm : algorithms()) {
    std::string reason;
    try {
      LatentGaussianModel core = model_from_list(context, model, algorithm.expectation);
      core.update(hyper);
      reason = algorithm.refuses(core);
    } catch (const std::invalid_argument& error) {
      reason = error.what();
    }
    out.push_back(reason, algorithm.name);
  }
  return out;
}
