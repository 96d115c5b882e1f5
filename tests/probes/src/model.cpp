// Solvers and bounds, so that their references can be readable R.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "fit/choose.h"
#include "hyper/projected_newton.h"
#include "hyper/site_path.h"
#include "numeric/backend.h"
#include "solver/sparse.h"

using namespace galvi;

// Every verb of a model's first solver at the sites (lambda, b)
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_solver(Rcpp::List model, Rcpp::NumericVector lambda, Rcpp::NumericVector b,
                        Rcpp::NumericVector x, int threads, std::string backend_name,
                        Rcpp::NumericVector changes) {
  RMonitor monitor(R_NilValue);
  Context context{backend(backend_name), monitor, threads};
  const Vector sites = from_r(lambda);
  const Vector linear = from_r(b);
  const Vector v = from_r(x);
  const PredictorSpec spec = predictors_from_list(context, model).at(0);
  spec.prior->update(hyper_from_list(model).values());
  auto solver = make_solver(spec.solver, context, spec.prior, designs_from_list(model).at(spec.design));
  solver->refresh();
  const bool ok = solver->factorise(sites);
  if (!ok) return Rcpp::List::create(Rcpp::_["ok"] = false);
  // changes of lambda, applied by one sweep before anything is read; the variances that the sweep saw
  Vector seen(changes.size());
  if (changes.size() > 0)
    solver->sweep([&](Index n, double variance) {
      seen[n] = variance;
      return changes[n];
    });
  const Vector variances = solver->marginal_variances();
  const SiteMean site_mean = solver->posterior_mean(linear);
  const Distance distance = solver->distance(v, linear);
  return Rcpp::List::create(
      Rcpp::_["ok"] = true, Rcpp::_["seen"] = to_r(seen), Rcpp::_["prior_mean"] = to_r(solver->prior_mean()),
      Rcpp::_["prior_variances"] = to_r(solver->prior_variances()), Rcpp::_["log_det"] = solver->log_det(),
      Rcpp::_["variances"] = to_r(variances), Rcpp::_["mean"] = to_r(site_mean.mean),
      Rcpp::_["alpha"] = to_r(site_mean.alpha), Rcpp::_["kl"] = solver->prior_kl(site_mean),
      Rcpp::_["apply_prior"] = to_r(solver->apply_prior(v)),
      Rcpp::_["apply_covariance"] = to_r(solver->apply_covariance(v)),
      Rcpp::_["apply_squared_covariance"] = to_r(solver->apply_squared_covariance(v)),
      Rcpp::_["covariance"] = to_r(solver->covariance({0, sites.size() - 1})),
      Rcpp::_["gap_bound"] = distance.gap_bound, Rcpp::_["squared_norm"] = distance.squared_norm,
      Rcpp::_["jitter"] = solver->jitter());
}

// The bound and its gradient in all hyperparameters (natural scale): at the optimum of q by `method`, or at
// the given sites if `sites` is a list(lambda, b), where q is not the optimum and the sites stay
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_bound(Rcpp::List model, Rcpp::List control, std::string method = "auto",
                       Rcpp::Nullable<Rcpp::List> sites = R_NilValue) {
  RMonitor monitor(R_NilValue);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model, automatic_expectation(method));
  HyperTable table = hyper_from_list(model);
  core.update(table.values());
  Posterior q;
  Stationarity stationarity{};
  if (sites.isNotNull()) {
    const Rcpp::List s(sites.get());
    auto found = core.at_sites({get_matrix(s, "lambda"), get_matrix(s, "b")}, 1);
    if (!found) return Rcpp::List::create(Rcpp::_["elbo"] = R_NegInf);
    stationarity = core.stationarity(*found);
    q = std::move(*found);
  } else {
    Trace trace(context);
    InferenceResult result =
        choose({method}, core).run(core, std::nullopt, inference_control(control), trace);
    q = std::move(result.posterior);
    stationarity = result.stationarity;
  }
  const Algorithm& algorithm = choose({method}, core);
  const Vector gradient = sites.isNull() ? algorithm.objective_gradient(core, q, table.size())
                                         : core.gradient(q.of_sites(), table.size(), false);
  return Rcpp::List::create(Rcpp::_["elbo"] = q->elbo, Rcpp::_["log_prior"] = table.log_prior(),
                            Rcpp::_["gradient"] = to_r(gradient),
                            Rcpp::_["unconstrained_gradient"] = to_r(table.chain(gradient)),
                            Rcpp::_["lambda"] = to_r(q.sites().lambda), Rcpp::_["b"] = to_r(q.sites().b),
                            Rcpp::_["gap"] = stationarity.certificate, Rcpp::_["norm"] = stationarity.norm);
}

// The fields of a model list's rows, by their names in R: of the rows at `places`, counted from 1, or of `count` rows
// from the first of them on.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_data_fields(Rcpp::List model, Rcpp::IntegerVector places, int count = 0) {
  using namespace galvi;
  const Data all = data_from_list(model);
  std::vector<Index> from;
  for (const int place : places) from.push_back(place - 1);
  const Data some = count > 0 ? all.slice(from.at(0), count) : all.at(from);
  Rcpp::List out;
  Data::for_fields([&](const std::string& name, const auto& field) {
    out[name] = to_r(Matrix(field.template cast<double>()));
  }, some);
  return out;
}

// The distance of a model's first solver at the sites lambda from the optimum, with residuals r and d: gap_bound and
// squared_norm, by bounds or estimates
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_distance(Rcpp::List model, Rcpp::NumericVector lambda, Rcpp::NumericVector r,
                                   Rcpp::NumericVector d, bool estimate) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor};
  const PredictorSpec spec = predictors_from_list(context, model).at(0);
  spec.prior->update(hyper_from_list(model).values());
  auto solver = make_solver(spec.solver, context, spec.prior, designs_from_list(model).at(spec.design));
  solver->refresh();
  solver->factorise(from_r(lambda));
  const Vector by_mean = from_r(r), by_variance = from_r(d);
  const Distance out =
      estimate ? solver->estimate_distance(by_mean, by_variance) : solver->distance(by_mean, by_variance);
  return Rcpp::NumericVector::create(out.gap_bound, out.squared_norm);
}

// The sparse solver of a model's first predictor where its factor may have so many numbers and take so many
// multiply-adds: what the factor takes
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_sparse_limit(Rcpp::List model, double entries, double work) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor};
  const PredictorSpec spec = predictors_from_list(context, model).at(0);
  const auto design = designs_from_list(model).at(spec.design);
  const SparseSolver solver(context, spec.prior, design, {entries, work});
  const FactorSize size = SparseCholesky(FieldStack(*spec.prior, *design).pattern()).size();
  return Rcpp::NumericVector::create(size.entries, size.work);
}

// minimise_from_hessian() of the function f(x), whose value has the attribute "gradient": x, value, evaluations, converged
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_from_hessian(Rcpp::Function f, Rcpp::NumericVector start, Rcpp::NumericMatrix hessian,
                              Rcpp::NumericVector lower, Rcpp::NumericVector upper) {
  const Objective objective = [&](const Vector& x, Vector& gradient) {
    const Rcpp::NumericVector found = f(to_r(x));
    gradient = from_r(Rcpp::NumericVector(found.attr("gradient")));
    return static_cast<double>(found[0]);
  };
  LbfgsControl control;
  control.gradient_tolerance = 1e-6;
  control.max_step = 4;
  const LbfgsResult out =
      minimise_from_hessian(objective, from_r(start), from_r(hessian), from_r(lower), from_r(upper), control);
  return Rcpp::List::create(Rcpp::_["x"] = to_r(out.x), Rcpp::_["value"] = out.value,
                            Rcpp::_["evaluations"] = out.evaluations, Rcpp::_["converged"] = out.converged);
}

// Sites that SitePath extrapolates to `at`, from those found at the columns of x, the last of them the best so far
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_site_path(Rcpp::NumericMatrix x, Rcpp::List lambda, Rcpp::List b, Rcpp::NumericVector at) {
  SitePath path;
  const Matrix places = from_r(x);
  Start last;
  for (Index i = 0; i < places.cols(); ++i) {
    last = Sites{from_r(Rcpp::NumericMatrix(lambda[i])), from_r(Rcpp::NumericMatrix(b[i]))};
    path.add(places.col(i), last, true);
  }
  const Sites found = std::get<Sites>(path.start_at(from_r(at), last));
  return Rcpp::List::create(Rcpp::_["lambda"] = to_r(found.lambda), Rcpp::_["b"] = to_r(found.b));
}
