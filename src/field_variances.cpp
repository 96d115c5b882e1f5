// The border: the marginal variances that scaled fields are scaled by.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "border/monitor.h"
#include "numeric/backend.h"
#include "prior/field.h"

//' Marginal variances of a field whose only hyperparameter, a variance, is one
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector field_variances(Rcpp::List field) {
  using namespace galvi;
  RMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor};
  FieldSpec spec = field_from_list(field);
  spec.hyper = {{"variance", {0}}};
  Field core(spec);
  core.update(Vector::Ones(1));
  return to_r(core.variances(context));
}
