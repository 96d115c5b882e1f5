// The border: the columns of fixed effects as their prior takes them.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/monitor.h"
#include "numeric/backend.h"
#include "prior/column_coding.h"

using namespace galvi;

namespace {

Eigen::Map<const Matrix> in_place(const Rcpp::NumericMatrix& X) { return {X.begin(), X.nrow(), X.ncol()}; }

}  // namespace

//' Means and centred second moments of columns over weighted rows
//' @param X n x q. weights: n numbers that sum to one.
//' @return list(mean: q, second: q x q).
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::List moments_of_columns(Rcpp::NumericMatrix X, Rcpp::NumericVector weights, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("eigen"), monitor, threads};
  const ColumnMoments out = column_moments(context, in_place(X), from_r(weights));
  return Rcpp::List::create(Rcpp::_["mean"] = to_r(out.mean), Rcpp::_["second"] = to_r(out.second));
}

//' (X - 1 centre') B + 1 level', with the same bits for a row whichever rows come with it
//' @param X n x q. centre: q. B: q x L. level: L.
//' @return n x L
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix coded_columns(Rcpp::NumericMatrix X, Rcpp::NumericVector centre, Rcpp::NumericMatrix B,
                                 Rcpp::NumericVector level, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("eigen"), monitor, threads};
  Rcpp::NumericMatrix out(Rcpp::no_init(X.nrow(), B.ncol()));
  code_columns(context, in_place(X), from_r(centre), from_r(B), from_r(level),
               Eigen::Map<Matrix>(out.begin(), out.nrow(), out.ncol()));
  return out;
}
