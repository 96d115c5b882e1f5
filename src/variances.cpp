// The border: prior variances.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "border/prior_rows.h"
#include "numeric/backend.h"
#include "prior/field.h"

using namespace galvi;

//' Prior variances of a model's eta at its rows, infinite under flat priors: N x K
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix prior_variances(Rcpp::List model, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  const Vector hyper = hyper_from_list(model).values();
  const auto designs = designs_from_list(model);
  const Matrix offset = get_matrix(model, "offset");
  Matrix out = Matrix::Zero(offset.rows() + prior_rows(model), offset.cols());
  for (const PredictorSpec& spec : predictors_from_list(context, model)) {
    spec.prior->update(hyper);
    Vector variances = Vector::Zero(out.rows());
    spec.prior->add_variances(context, *designs.at(spec.design), variances);
    for (const Index k : spec.latents) out.col(k) = variances;
  }
  return to_r(Matrix(out.topRows(out.rows() - prior_rows(model))));
}

//' Marginal variances of a field whose only hyperparameter, a variance, is one
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector field_variances(Rcpp::List field) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor};
  FieldSpec spec = field_from_list(field);
  spec.hyper = {{"variance", {0}}};
  MarkovField core(spec);
  core.update(Vector::Ones(1));
  return to_r(core.variances(context));
}

//' Variances k(x, x) of a kernel at rows of X
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector kernel_variances(Rcpp::List kernel, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X) {
  const auto core = make_kernel(kernel_from_list(kernel));
  core->update(from_r(hyper));
  Vector out(X.nrow());
  core->diagonal(from_r(X), out);
  return to_r(out);
}
