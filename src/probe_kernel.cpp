// Kernels for the tests and benches: a specification from R, evaluated on blocks or as a Gram matrix.
#include <Rcpp/Lightest>

#include "border/list_access.h"
#include "kernel/arrays.h"
#include "kernel/gram.h"
#include "kernel/kernel.h"
#include "numeric/backend.h"

using namespace galvi;

namespace {

class Silent final : public Monitor {
 public:
  void poll() override {}
  void report(const Progress&) override {}
};

std::vector<Index> zero_based(const Rcpp::IntegerVector& positions) {
  std::vector<Index> out;
  for (const int position : positions) out.push_back(position - 1);
  return out;
}

KernelSpec spec_of(const Rcpp::List& list) {
  KernelSpec spec;
  spec.type = Rcpp::as<std::string>(list["type"]);
  if (list.containsElementNamed("columns")) spec.columns = zero_based(list["columns"]);
  if (list.containsElementNamed("hyper")) {
    const Rcpp::List hyper = list["hyper"];
    for (R_xlen_t k = 0; k < hyper.size(); ++k) {
      const Rcpp::CharacterVector names = hyper.names();
      spec.hyper[Rcpp::as<std::string>(names[k])] = zero_based(hyper[k]);
    }
  }
  if (list.containsElementNamed("constants")) {
    const Rcpp::List constants = list["constants"];
    for (R_xlen_t k = 0; k < constants.size(); ++k) {
      const Rcpp::CharacterVector names = constants.names();
      spec.constants[Rcpp::as<std::string>(names[k])] = Rcpp::as<double>(constants[k]);
    }
  }
  if (list.containsElementNamed("parts")) {
    const Rcpp::List parts = list["parts"];
    for (R_xlen_t k = 0; k < parts.size(); ++k) spec.parts.push_back(spec_of(parts[k]));
  }
  return spec;
}

Vector vector(const Rcpp::NumericVector& x) { return Eigen::Map<const Vector>(x.begin(), x.size()); }
Matrix matrix(const Rcpp::NumericMatrix& X) {
  return Eigen::Map<const Matrix>(X.begin(), X.nrow(), X.ncol());
}

std::unique_ptr<Kernel> kernel_of(const Rcpp::List& spec, const Vector& hyper) {
  auto kernel = make_kernel(spec_of(spec));
  kernel->update(hyper);
  return kernel;
}

KernelRows rows_of(const Rcpp::List& list) {
  KernelRows rows;
  rows.inputs = get_matrix(list, "inputs");
  const auto given = [&](const char* name) {
    return list.containsElementNamed(name) && !Rf_isNull(list[name]);
  };
  if (given("by")) rows.by = get_vector(list, "by");
  if (given("group")) {
    const Rcpp::IntegerVector group = list["group"];
    rows.group = Eigen::Map<const Eigen::VectorXi>(group.begin(), group.size());
  }
  return rows;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
std::vector<std::string> probe_kernel_types() { return kernel_types(); }

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_kernel_value(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X,
                                       Rcpp::NumericMatrix Z) {
  Matrix out(X.nrow(), Z.nrow());
  kernel_of(spec, vector(hyper))->value(matrix(X), matrix(Z), out);
  return to_r(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_kernel_diagonal(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X) {
  Vector out(X.nrow());
  kernel_of(spec, vector(hyper))->diagonal(matrix(X), out);
  return to_r(out);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_gradient(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::NumericMatrix X,
                                 Rcpp::NumericMatrix Z, Rcpp::NumericMatrix G) {
  Vector gradient = Vector::Zero(hyper.size());
  Matrix inputs = Matrix::Zero(Z.nrow(), Z.ncol());
  kernel_of(spec, vector(hyper))->gradient(matrix(X), matrix(Z), matrix(G), gradient, &inputs);
  return Rcpp::List::create(Rcpp::Named("hyper") = to_r(gradient), Rcpp::Named("inputs") = to_r(inputs));
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_kernel_diagonal_gradient(Rcpp::List spec, Rcpp::NumericVector hyper,
                                                   Rcpp::NumericMatrix X, Rcpp::NumericVector g) {
  Vector gradient = Vector::Zero(hyper.size());
  kernel_of(spec, vector(hyper))->diagonal_gradient(matrix(X), vector(g), gradient);
  return to_r(gradient);
}

/// rows, others: list(inputs, by, group). Without `others` the lower triangle of the rows' own covariance.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_gram(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows,
                           Rcpp::Nullable<Rcpp::List> others = R_NilValue, int threads = 1) {
  Silent silent;
  Context context{backend("auto"), silent, threads};
  const auto kernel = kernel_of(spec, vector(hyper));
  const KernelRows a = rows_of(rows);
  if (others.isNull()) {
    Rcpp::NumericMatrix K(a.inputs.rows(), a.inputs.rows());
    add_gram(context, *kernel, a, Eigen::Map<Matrix>(K.begin(), K.nrow(), K.ncol()));
    return K;
  }
  const KernelRows b = rows_of(Rcpp::List(others));
  Rcpp::NumericMatrix K(a.inputs.rows(), b.inputs.rows());
  add_cross(context, *kernel, a, b, Eigen::Map<Matrix>(K.begin(), K.nrow(), K.ncol()));
  return K;
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_gram_diagonal(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows) {
  Silent silent;
  Context context{backend("auto"), silent, 1};
  const KernelRows a = rows_of(rows);
  Vector d = Vector::Zero(a.inputs.rows());
  add_diagonal(context, *kernel_of(spec, vector(hyper)), a, d);
  return to_r(d);
}

/// G is read in its lower triangle.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_gram_gradient(Rcpp::List spec, Rcpp::NumericVector hyper, Rcpp::List rows,
                                        Rcpp::NumericMatrix G, int threads = 1) {
  const Eigen::Map<const Matrix> weights(G.begin(), G.nrow(), G.ncol());
  Silent silent;
  Context context{backend("auto"), silent, threads};
  Vector gradient = Vector::Zero(hyper.size());
  const TileSource tiles = [&](Index row, Index column, MatrixRef tile) {
    tile = weights.block(row, column, tile.rows(), tile.cols());
  };
  add_gram_gradient(context, *kernel_of(spec, vector(hyper)), rows_of(rows), tiles, gradient);
  return to_r(gradient);
}

/// Squared distances of X's rows to z, and exp(-t), with the processor's widest registers or the portable
/// code.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_arrays(Rcpp::NumericMatrix X, Rcpp::NumericVector z, Rcpp::NumericVector t,
                               bool portable) {
  Eigen::ArrayXd distances(X.nrow()), exponents = vector(t).array();
  if (portable) {
    squared_distances_portable(matrix(X), vector(z), distances);
    exp_minus_portable(exponents);
  } else {
    squared_distances(matrix(X), vector(z), distances);
    exp_minus(exponents);
  }
  return Rcpp::List::create(Rcpp::Named("distances") = to_r(Vector(distances)),
                            Rcpp::Named("exp_minus") = to_r(Vector(exponents)));
}
