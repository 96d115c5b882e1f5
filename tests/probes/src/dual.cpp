// The dual: its conjugates, its value and its gradient.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "inference/dual_problem.h"
#include "model/start.h"
#include "numeric/backend.h"

using namespace galvi;

// The Fenchel conjugate of one datum's -E at x, one entry per latent (DualLine in likelihood.h); NULL where the
// expectation has none
// [[Rcpp::export(rng = false)]]
Rcpp::RObject probe_conjugate(Rcpp::List likelihood, std::string expectation, Rcpp::NumericVector hyper,
                              double y, double size, Rcpp::NumericVector x) {
  const auto made = likelihood_at(likelihood, from_r(hyper));
  const auto expected = make_expectation(expectation, *made);
  if (!expected->has_conjugate(*made)) return R_NilValue;
  const Index K = made->latents();
  if (x.size() != K) Rcpp::stop("x must have one entry per latent");
  std::vector<DualLine> lines(K);
  Vector slope(K), curvature(K), alpha(K), lambda(K), lower(K), upper(K);
  RowConjugate row{0.0, slope.data(), curvature.data(), infinity};
  expected->dual_lines(*made, {y, size}, lines.data());
  expected->conjugate_row(*made, {y, size}, x.begin(), row);
  for (Index k = 0; k < K; ++k) {
    alpha[k] = lines[k].alpha0 + lines[k].alpha1 * x[k];
    lambda[k] = lines[k].lambda0 + lines[k].lambda1 * x[k];
    lower[k] = lines[k].lower;
    upper[k] = lines[k].upper;
  }
  return Rcpp::List::create(Rcpp::_["value"] = row.value, Rcpp::_["slope"] = to_r(slope),
                            Rcpp::_["curvature"] = to_r(curvature), Rcpp::_["rest"] = row.rest,
                            Rcpp::_["alpha"] = to_r(alpha), Rcpp::_["lambda"] = to_r(lambda),
                            Rcpp::_["lower"] = to_r(lower), Rcpp::_["upper"] = to_r(upper));
}

// The dual of a model at x (N x K), or where its search starts, and its Hessian times `direction`
// [[Rcpp::export(rng = false)]]
Rcpp::RObject probe_dual(Rcpp::List model, Rcpp::Nullable<Rcpp::NumericMatrix> x = R_NilValue,
                         Rcpp::Nullable<Rcpp::NumericMatrix> direction = R_NilValue) {
  RMonitor monitor(R_NilValue);
  Context context{backend("eigen"), monitor, 1};
  LatentGaussianModel core = model_from_list(context, model);
  core.update(hyper_from_list(model).values());
  DualProblem problem(core);
  const Matrix place = x.isNotNull() ? from_r(Rcpp::NumericMatrix(x))
                                     : problem.start(initial_posterior(core, std::nullopt, 1));
  const auto point = problem.at(place);
  if (!point) return R_NilValue;
  Rcpp::List out =
      Rcpp::List::create(Rcpp::_["x"] = to_r(point->x), Rcpp::_["value"] = point->value,
                         Rcpp::_["gradient"] = to_r(point->gradient), Rcpp::_["gap"] = point->gap,
                         Rcpp::_["elbo"] = point->posterior ? point->posterior->elbo : R_NegInf);
  if (direction.isNotNull())
    out["curved"] = to_r(problem.curve(*point, from_r(Rcpp::NumericMatrix(direction)), true));
  return out;
}
