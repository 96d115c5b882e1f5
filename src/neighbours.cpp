// The border: the order of places and their nearest neighbours.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "border/monitor.h"
#include "numeric/backend.h"
#include "numeric/places.h"

using namespace galvi;

namespace {

// From 1; 0: none.
Rcpp::IntegerMatrix numbers_to_r(const Eigen::MatrixXi& x) {
  Rcpp::IntegerMatrix out(static_cast<int>(x.rows()), static_cast<int>(x.cols()));
  Eigen::Map<Eigen::MatrixXi>(out.begin(), x.rows(), x.cols()) = x.array() + 1;
  return out;
}

}  // namespace

//' Places (n x p) from coarse to fine: first the one nearest to the mean of all, then always the one farthest from all
//' before it
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector maxmin_order(Rcpp::NumericMatrix places) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor};
  return positions_to_r(PlaceTree(from_r(places)).maxmin_order(context));
}

//' The nearest places before each, in the order of the rows: n x count numbers of places, 0 where there are fewer
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix nearest_before(Rcpp::NumericMatrix places, int count, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  return numbers_to_r(galvi::nearest_before(context, from_r(places), count));
}

//' The places nearest to each row of x: numbers of places
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix nearest_places(Rcpp::NumericMatrix places, Rcpp::NumericMatrix x, int count, int threads) {
  CallMonitor monitor(R_NilValue);
  Context context{backend("auto"), monitor, threads};
  return numbers_to_r(galvi::nearest_places(context, from_r(places), from_r(x), count));
}
