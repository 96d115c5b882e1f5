// The border: the bound at a given posterior, and what rows give to it and its derivatives, on plain values.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "border/prior_rows.h"
#include "global/row_source.h"
#include "numeric/backend.h"
#include "numeric/dense.h"

using namespace galvi;

//' The bound of the posterior at `sites`, a list(lambda, b), N x K each, with `prior_rows`, and its divergence from the prior
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List bound_at_sites(Rcpp::List model, Rcpp::List sites, Rcpp::List control) {
  CallMonitor monitor(R_NilValue);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model);
  core.update(hyper_from_list(model).values());
  const Sites at = sites_from_list(sites);
  if (!complete(at, core)) throw std::invalid_argument("`sites` are those of another model");
  const auto q = core.at_sites(at, 1);
  if (!q) throw std::domain_error("the sites `lambda` and `b` give no posterior: its precision is not positive definite");
  return Rcpp::List::create(Rcpp::_["elbo"] = q->elbo, Rcpp::_["kl"] = q->kl);
}

//' The contribution of all rows of a model list (internal; see contribution())
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List contribution_of_rows(Rcpp::List model, Rcpp::List q, bool gradient) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, 1};
  LatentGaussianModel core = model_from_list(context, model, "auto");
  const Vector hyper = get_vector(q, "hyper");
  if (hyper.size() != Rf_length(field(get<Rcpp::List>(model, "hyper"), "value")))
    throw std::invalid_argument("q has other hyperparameters than the model");
  core.update(hyper);
  if (!core.sums_suffice())
    throw std::domain_error(
        "contribution() is for models of fixed effects and inducing points alone, with an expectation that is "
        "exact or a bound");
  GlobalPosterior posterior;
  const Rcpp::List latent = get<Rcpp::List>(q, "latent");
  if (latent.size() != core.latents())
    throw std::invalid_argument("q has other latent vectors than the model");
  for (Index k = 0; k < core.latents(); ++k)
    posterior.push_back(latent_from_list(context, *core.predictor(k).prior, latent[k]));
  Question question;
  question.q = &posterior;
  question.wanted.gradient = gradient;
  Contribution sums = MemoryRows(core.block()).sum(core, question);
  Rcpp::List slope, curvature;
  for (Index k = 0; k < core.latents(); ++k) {
    slope.push_back(to_r(sums.slope[k]));
    fill_upper(sums.curvature[k]);
    curvature.push_back(to_r(sums.curvature[k]));
  }
  Rcpp::List out = Rcpp::List::create(Rcpp::_["rows"] = sums.rows, Rcpp::_["value"] = sums.value,
                                      Rcpp::_["slope"] = slope, Rcpp::_["curvature"] = curvature);
  if (gradient) out["gradient"] = to_r(hyper_gradient(core, sums, core.hypers()));
  return out;
}
