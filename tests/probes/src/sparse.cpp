// The sparse factorisation.
#include <Rcpp/Lightest>

#include <ctime>
#include <functional>
#include <vector>

#include "numeric/sparse_cholesky.h"
#include "setting.h"

using namespace galvi;

namespace {

// Entries (i, j) from 1; their values do not matter.
SparseMatrix pattern(int n, const Rcpp::IntegerVector& i, const Rcpp::IntegerVector& j) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int k = 0; k < i.size(); ++k) entries.emplace_back(i[k] - 1, j[k] - 1, 1.0);
  SparseMatrix result(n, n);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

}  // namespace

// Everything about the matrix with the lower triangle (i, j, x), sorted by columns; x has a column for each
// of the factorisations that follow one analysis. NULL for a matrix that is not positive definite.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_sparse_cholesky(int n, Rcpp::IntegerVector i, Rcpp::IntegerVector j, Rcpp::NumericMatrix x,
                                 Rcpp::NumericMatrix B, std::string backend = "auto", int threads = 1,
                                 int stop_at = -1) {
  SparseCholesky factor(pattern(n, i, j));
  const Matrix values = from_r(x), right = from_r(B);
  Rcpp::List result(values.cols());
  for (int k = 0; k < values.cols(); ++k) {
    Setting setting(backend, threads, stop_at);
    Context& context = setting.context;
    if (!factor.factorise(context, values.col(k))) continue;
    Matrix solved = right, lower = right, upper = right;
    factor.solve(context, solved);
    factor.solve_lower(context, lower);
    factor.solve_lower_transposed(context, upper);
    const SparseMatrix inverse = factor.selected_inverse(context);
    result[k] =
        Rcpp::List::create(Rcpp::Named("log_det") = factor.log_det(), Rcpp::Named("solve") = to_r(solved),
                           Rcpp::Named("lower") = to_r(lower), Rcpp::Named("lower_transposed") = to_r(upper),
                           Rcpp::Named("inverse") = Rcpp::NumericVector(
                               inverse.valuePtr(), inverse.valuePtr() + inverse.nonZeros()),
                           Rcpp::Named("flops") = context.cost.flops,
                           Rcpp::Named("factorisations") = context.cost.factorisations);
  }
  return result;
}

// CPU seconds of each step, averaged over `repeats` runs in a row. For bench/.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_sparse_seconds(int n, Rcpp::IntegerVector i, Rcpp::IntegerVector j,
                                         Rcpp::NumericVector x, std::string backend, int repeats) {
  Setting setting(backend);
  Context& context = setting.context;
  const SparseMatrix lower = pattern(n, i, j);
  const Vector values = from_r(x);
  SparseCholesky factor(lower);
  SparseMatrix inverse;
  Matrix B = Matrix::Ones(n, 1);
  const auto seconds = [&](const std::function<void()>& run) {
    const std::clock_t start = std::clock();
    for (int repeat = 0; repeat < repeats; ++repeat) run();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
  };
  const double analyse = seconds([&] { factor = SparseCholesky(lower); });
  const double factorise = seconds([&] { factor.factorise(context, values); });
  const double invert = seconds([&] { inverse = factor.selected_inverse(context); });
  const double solve = seconds([&] { factor.solve(context, B); });
  return Rcpp::NumericVector::create(Rcpp::Named("analyse") = analyse, Rcpp::Named("factorise") = factorise,
                                     Rcpp::Named("selected_inverse") = invert, Rcpp::Named("solve") = solve);
}
