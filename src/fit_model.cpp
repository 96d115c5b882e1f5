// The border: fit_model(), and why methods refuse a model.
#include <Rcpp/Lightest>

#include <algorithm>
#include <deque>

#include "border/fit_to_r.h"
#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "border/prior_rows.h"
#include "fit/fit.h"
#include "fit/integrate.h"
#include "numeric/backend.h"
#include "numeric/even_points.h"
#include "prior/collinear.h"

namespace {

using namespace galvi;

/// From this fit_model() goes on another time, with `hyper` = "fixed": no number is computed any more.
Rcpp::List best_so_far_to_r(const BestSoFar& best, const Algorithm& algorithm, const Trace& trace) {
  const auto of_sites = [](const Sites& sites) {
    return Rcpp::List::create(Rcpp::_["lambda"] = to_r(sites.lambda), Rcpp::_["b"] = to_r(sites.b));
  };
  const Rcpp::List start =
      std::visit(Overloaded{of_sites, [&](const GivenSites& sites) { return of_sites(sites.rows); },
                            [](const std::shared_ptr<const GlobalPosterior>& q) {
                              return Rcpp::List::create(Rcpp::_["global"] = global_to_r(*q));
                            }},
                 best.start);
  return Rcpp::List::create(Rcpp::_["hyper"] = to_r(best.hyper), Rcpp::_["start"] = start,
                            Rcpp::_["method"] = algorithm.name, Rcpp::_["trace"] = trace_to_r(trace));
}

Method method_from_list(const Rcpp::List& model, const std::string& name) {
  return {name, has(model, "fitc") && get<bool>(model, "fitc")};
}

/// In the words of joint_uncertainty(), R/fit-steps.R.
Joint joint_from_word(const std::string& uncertainty) {
  if (uncertainty == "auto") return Joint::anywhere;
  if (uncertainty == "ordered") return Joint::ordered;
  if (uncertainty == "states") return Joint::states;
  return uncertainty == "coupled" ? Joint::coupled : Joint::nowhere;
}

/// Where inference starts, as R gives it; empty where sites belong to other rows.
std::optional<Start> start_from_list(const LatentGaussianModel& core, const Rcpp::List& start) {
  if (has(start, "global")) return start_at(global_from_list(core, start["global"]));
  Sites out = sites_from_list(start);
  if (!complete(out, core)) return std::nullopt;
  return out;
}

}  // namespace

//' Fit a model described as a list (internal; its fields are documented in R/model-list.R)
//' @param keep NULL, or a function that is called with what best_so_far_to_r() gives if an interrupt or an error of R
//'   stops the fit.
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List fit_model(Rcpp::List model, std::string method, std::string hyper, Rcpp::List control,
                     Rcpp::Nullable<Rcpp::List> start = R_NilValue, SEXP report = R_NilValue,
                     SEXP keep = R_NilValue) {
  CallMonitor monitor(report, has(control, "max_seconds") ? get<double>(control, "max_seconds") : R_PosInf);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model, automatic_expectation(method));
  HyperTable table = hyper_from_list(model);
  core.update(table.values());
  Plan plan;
  plan.learn = hyper != "fixed" && table.learned() > 0;
  if (hyper == "integrate") plan.integrate = get<std::string>(control, "hyper_design");
  plan.method = method_from_list(model, method);
  plan.algorithm = plan.learn && has(model, "pilots") ? &choose_to_learn(plan.method, core, table)
                                                     : &choose(plan.method, core);
  plan.starts = plan.learn ? std::max(1, get<int>(control, "starts")) : 1;
  plan.inference = inference_control(control);
  plan.hyper = hyper_control(control);
  plan.keep_factor = get<bool>(control, "keep_factor");
  if (has(control, "uncertainty")) plan.joint = joint_from_word(get<std::string>(control, "uncertainty"));
  const std::unique_ptr<HyperTable> proper =
      plan.joint != Joint::nowhere || !plan.integrate.empty() ? proper_hyper_from_list(model) : nullptr;
  plan.proper = proper.get();
  const LikelihoodSpec likelihood = likelihood_from_list(get<Rcpp::List>(model, "likelihood"));
  if (!likelihood.functions && core.prior_rows() == 0)
    plan.another_likelihood = [&likelihood] { return make_likelihood(likelihood); };
  if (start.isNotNull()) plan.start = start_from_list(core, Rcpp::List(start.get()));
  if (has(model, "curvature")) plan.curvature = positions(model["curvature"]);
  if (has(model, "checked")) plan.checked = checked_from_list(model["checked"]);
  std::deque<LatentGaussianModel> parts;
  if (has(model, "pilots"))
    for (const Rcpp::List part : get<Rcpp::List>(model, "pilots"))
      plan.pilots.push_back(&parts.emplace_back(model_from_list(context, part, core.expectation().name())));
  Trace trace(context);
  try {
    return fit_to_r(core, fit(core, table, plan, trace), *plan.algorithm, trace);
  } catch (const CollinearColumns& error) {
    // flat are only the normal priors that stand in for heavy-tailed ones, so that nobody typed a flat one
    const bool heavy = core.prior_rows() > 0 && core.prior_rows() >= core.null_dimension();
    throw std::domain_error(
        heavy ? "some responses determine the coefficients so much better than all others that numbers lack the digits "
                "for both, as where the response spans dozens of orders of magnitude: check it for wrong values, or "
                "model its logarithm, as lognormal() does"
              : error.what());
  } catch (const Rcpp::LongjumpException&) {  // an interrupt, or an error of R
    if (!Rf_isNull(keep) && trace.best_so_far() && !core.source()) {
      const Rcpp::Function to_r(keep);
      to_r(best_so_far_to_r(*trace.best_so_far(), *plan.algorithm, trace));
    }
    throw;
  }
}

//' Weighted points of the posterior of the hyperparameters (`fit$hyper_posterior`)
//' @param U Uniform numbers, S x m; NULL for those of quantiles.
//' @return list(x: S x learned; z: S x m; weight: S numbers, not normalised).
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List hyper_points(Rcpp::List posterior, Rcpp::Nullable<Rcpp::NumericMatrix> U = R_NilValue) {
  const HyperPosterior known = hyper_posterior_from_list(posterior);
  const HyperPoints points =
      U.isNull() ? galvi::hyper_points(known) : galvi::hyper_points(known, from_r(Rcpp::NumericMatrix(U.get())));
  return Rcpp::List::create(Rcpp::_["x"] = to_r(points.x), Rcpp::_["z"] = to_r(points.z),
                            Rcpp::_["weight"] = to_r(points.weight));
}

//' Points z of that posterior in units of the axes, not of their sides
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix stretched_points(Rcpp::List posterior) {
  const HyperPosterior known = hyper_posterior_from_list(posterior);
  return to_r(known.stretch(known.z));
}

//' S points evenly spread over the unit cube of d dimensions
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix even_points(int S, int d) { return to_r(galvi::even_points(S, d)); }

//' The points of the central composite design for m hyperparameters
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix composite_design(int m) { return to_r(galvi::composite_design(m)); }

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

//' The method that `method` stands for with this model
//' @noRd
// [[Rcpp::export(rng = false)]]
std::string chosen_method(Rcpp::List model, std::string method) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, 1};
  LatentGaussianModel core = model_from_list(context, model, automatic_expectation(method));
  core.update(hyper_from_list(model).values());
  return choose(method_from_list(model, method), core).name;
}

//' Why each method cannot fit this model; "" where it can
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector inference_refusals(Rcpp::List model) {
  CallMonitor monitor(R_NilValue);
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
