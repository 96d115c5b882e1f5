// Kernels: a specification from R, evaluated on blocks or as a Gram matrix.
#include <Rcpp/Lightest>

#include "border/model_from_list.h"
#include "kernel/arrays.h"
#include "setting.h"

using namespace galvi;

namespace {

std::unique_ptr<Kernel> kernel_of(const Rcpp::List& spec, const Vector& hyper) {
  auto kernel = make_kernel(kernel_from_list(spec));
  kernel->update(hyper);
  return kernel;
}

// rows: list(inputs, by, group)
KernelRows rows_of(const Rcpp::List& rows) { return design_from_list(Rcpp::List::create(rows))[0].kernel; }

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_kernel_value(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X,
                                       Rcpp::NumericMatrix Z) {
  Matrix out(X.nrow(), Z.nrow());
  kernel_of(spec, from_r(hyper))->value(from_r(X), from_r(Z), out);
  return to_r(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_kernel_diagonal(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X) {
  Vector out(X.nrow());
  kernel_of(spec, from_r(hyper))->diagonal(from_r(X), out);
  return to_r(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_gradient(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X,
                                 Rcpp::NumericMatrix Z, Rcpp::NumericMatrix G) {
  Vector gradient = Vector::Zero(hyper.size());
  Matrix inputs = Matrix::Zero(Z.nrow(), Z.ncol());
  kernel_of(spec, from_r(hyper))->gradient(from_r(X), from_r(Z), from_r(G), gradient, &inputs);
  return Rcpp::List::create(Rcpp::Named("hyper") = to_r(gradient), Rcpp::Named("inputs") = to_r(inputs));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_kernel_diagonal_gradient(Rcpp::List spec, Rcpp::NumericVector hyper,
                                                   Rcpp::NumericMatrix X, Rcpp::NumericVector g) {
  Vector gradient = Vector::Zero(hyper.size());
  kernel_of(spec, from_r(hyper))->diagonal_gradient(from_r(X), from_r(g), gradient);
  return to_r(gradient);
}

// Without `others` the lower triangle of the rows' own covariance.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_gram(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows,
                               Rcpp::Nullable<Rcpp::List> others = R_NilValue, int threads = 1) {
  Setting setting("auto", threads);
  const auto kernel = kernel_of(spec, from_r(hyper));
  const KernelRows a = rows_of(rows);
  if (others.isNull()) {
    Rcpp::NumericMatrix K(a.inputs.rows(), a.inputs.rows());
    add_gram(setting.context, *kernel, a, Eigen::Map<Matrix>(K.begin(), K.nrow(), K.ncol()));
    return K;
  }
  const KernelRows b = rows_of(Rcpp::List(others));
  Rcpp::NumericMatrix K(a.inputs.rows(), b.inputs.rows());
  add_cross(setting.context, *kernel, a, b, Eigen::Map<Matrix>(K.begin(), K.nrow(), K.ncol()));
  return K;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_gram_diagonal(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows) {
  Setting setting("auto");
  const KernelRows a = rows_of(rows);
  Vector d = Vector::Zero(a.inputs.rows());
  add_diagonal(setting.context, *kernel_of(spec, from_r(hyper)), a, d);
  return to_r(d);
}

// G is read in its lower triangle.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_gram_gradient(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows,
                                        Rcpp::NumericMatrix G, int threads = 1) {
  const Eigen::Map<const Matrix> weights(G.begin(), G.nrow(), G.ncol());
  Setting setting("auto", threads);
  Vector gradient = Vector::Zero(hyper.size());
  const TileSource tiles = [&](Index row, Index column, MatrixRef tile) {
    tile = weights.block(row, column, tile.rows(), tile.cols());
  };
  add_gram_gradient(setting.context, *kernel_of(spec, from_r(hyper)), rows_of(rows), tiles, gradient);
  return to_r(gradient);
}

// Squared distances of X's rows to Z's columns, and exp(-t), with the processor's widest registers or the portable
// code.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_arrays(Rcpp::NumericMatrix X, Rcpp::NumericMatrix Z, Rcpp::NumericVector t,
                               bool portable) {
  Matrix distances(X.nrow(), Z.ncol());
  Eigen::ArrayXd exponents = from_r(t).array();
  if (portable) {
    squared_distances_portable(from_r(X), from_r(Z), distances);
    exp_minus_portable(exponents);
  } else {
    squared_distances(from_r(X), from_r(Z), distances);
    exp_minus(exponents);
  }
  return Rcpp::List::create(Rcpp::Named("distances") = to_r(distances),
                            Rcpp::Named("exp_minus") = to_r(Vector(exponents)));
}
