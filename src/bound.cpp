// The border: the bound and its expectations at a given posterior, for checks of a fit.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "global/linear_response.h"
#include "numeric/backend.h"

using namespace galvi;

//' The bound of the posterior at `sites`, a list(lambda, b), N x K each, and its divergence from the prior
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List bound_at_sites(Rcpp::List model, Rcpp::List sites, Rcpp::List control) {
  RMonitor monitor(R_NilValue);
  Context context{backend(get<std::string>(control, "backend")), monitor, get<int>(control, "threads")};
  LatentGaussianModel core = model_from_list(context, model);
  core.update(hyper_from_list(model).values());
  const auto q = core.at_sites({get_matrix(sites, "lambda"), get_matrix(sites, "b")}, 1);
  if (!q) throw std::domain_error("the sites `lambda` and `b` give no posterior: its precision is not positive definite");
  return Rcpp::List::create(Rcpp::_["elbo"] = q->elbo, Rcpp::_["kl"] = q->kl);
}

//' d^2 E log p(y_n | eta_n) / dm_j dm_k by the model's expectation, times the row's weight
//' @param mean,variance Marginal moments of eta.   N x K
//' @return N x K^2, entry (j, k) of row n in column j + K (k - 1).
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix mean_curvature(Rcpp::List model, Rcpp::NumericMatrix mean, Rcpp::NumericMatrix variance,
                                   int threads) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  const auto likelihood =
      likelihood_at(get<Rcpp::List>(model, "likelihood"), hyper_from_list(model).values());
  const auto expectation = expectation_from_list(model, *likelihood);
  Expectations out;
  expectation->evaluate(context, *likelihood, data_from_list(model), from_r(mean), from_r(variance), 2, out);
  return to_r(out.d_mm);
}

//' The covariance of the coefficients of coupled classes by linear response (src/global/linear_response.h)
//' @param W N x q. mean, between: moments of eta, N x K and N x K^2. points: S x K. covariance: K q x K q.
//' @return K q x K q, or NULL.
//' @noRd
// [[Rcpp::export(rng = false)]]
SEXP coupled_response(Rcpp::NumericMatrix W, Rcpp::NumericMatrix mean, Rcpp::NumericMatrix between,
                      Rcpp::NumericVector copies, bool reference, Rcpp::NumericMatrix points,
                      Rcpp::NumericMatrix covariance, int threads) {
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  const HigherDerivatives derivatives = softmax_derivatives(
      context, from_r(mean), from_r(between), from_r(copies), reference, from_r(points));
  const auto response = linear_response(context, from_r(W), derivatives, from_r(covariance));
  return response ? SEXP(to_r(*response)) : R_NilValue;
}
