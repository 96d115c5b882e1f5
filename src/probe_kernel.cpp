// Kernels for the tests and benches: a specification from R, evaluated on blocks or as a Gram matrix.
// [[Rcpp::depends(RcppEigen)]]
#include <RcppEigen.h>

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

std::unique_ptr<Kernel> kernel_of(const Rcpp::List& spec, const Vector& hyper) {
  auto kernel = make_kernel(spec_of(spec));
  kernel->update(hyper);
  return kernel;
}

KernelRows rows_of(const Rcpp::List& list) {
  KernelRows rows;
  rows.inputs = Rcpp::as<Matrix>(list["inputs"]);
  const auto given = [&](const char* name) {
    return list.containsElementNamed(name) && !Rf_isNull(list[name]);
  };
  if (given("by")) rows.by = Rcpp::as<Vector>(list["by"]);
  if (given("group")) rows.group = Rcpp::as<Eigen::VectorXi>(list["group"]);
  return rows;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
std::vector<std::string> probe_kernel_types() { return kernel_types(); }

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd probe_kernel_value(Rcpp::List spec, Eigen::VectorXd hyper, Eigen::MatrixXd X,
                                   Eigen::MatrixXd Z) {
  Matrix out(X.rows(), Z.rows());
  kernel_of(spec, hyper)->value(X, Z, out);
  return out;
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd probe_kernel_diagonal(Rcpp::List spec, Eigen::VectorXd hyper, Eigen::MatrixXd X) {
  Vector out(X.rows());
  kernel_of(spec, hyper)->diagonal(X, out);
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_gradient(Rcpp::List spec, Eigen::VectorXd hyper, Eigen::MatrixXd X, Eigen::MatrixXd Z,
                                 Eigen::MatrixXd G) {
  Vector gradient = Vector::Zero(hyper.size());
  Matrix inputs = Matrix::Zero(Z.rows(), Z.cols());
  kernel_of(spec, hyper)->gradient(X, Z, G, gradient, &inputs);
  return Rcpp::List::create(Rcpp::Named("hyper") = gradient, Rcpp::Named("inputs") = inputs);
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd probe_kernel_diagonal_gradient(Rcpp::List spec, Eigen::VectorXd hyper, Eigen::MatrixXd X,
                                               Eigen::VectorXd g) {
  Vector gradient = Vector::Zero(hyper.size());
  kernel_of(spec, hyper)->diagonal_gradient(X, g, gradient);
  return gradient;
}

/// rows, others: list(inputs, by, group). Without `others` the lower triangle of the rows' own covariance.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix probe_gram(Rcpp::List spec, Eigen::VectorXd hyper, Rcpp::List rows,
                           Rcpp::Nullable<Rcpp::List> others = R_NilValue, int threads = 1) {
  Silent silent;
  Context context{backend("auto"), silent, threads};
  const auto kernel = kernel_of(spec, hyper);
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
Eigen::VectorXd probe_gram_diagonal(Rcpp::List spec, Eigen::VectorXd hyper, Rcpp::List rows) {
  Silent silent;
  Context context{backend("auto"), silent, 1};
  const KernelRows a = rows_of(rows);
  Vector d = Vector::Zero(a.inputs.rows());
  add_diagonal(context, *kernel_of(spec, hyper), a, d);
  return d;
}

/// G is read in its lower triangle.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd probe_gram_gradient(Rcpp::List spec, Eigen::VectorXd hyper, Rcpp::List rows,
                                    Eigen::Map<Eigen::MatrixXd> G, int threads = 1) {
  Silent silent;
  Context context{backend("auto"), silent, threads};
  Vector gradient = Vector::Zero(hyper.size());
  const TileSource tiles = [&](Index row, Index column, MatrixRef tile) {
    tile = G.block(row, column, tile.rows(), tile.cols());
  };
  add_gram_gradient(context, *kernel_of(spec, hyper), rows_of(rows), tiles, gradient);
  return gradient;
}

/// Squared distances of X's rows to z, and exp(-t), with the processor's widest registers or the portable
/// code.
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_kernel_arrays(Eigen::MatrixXd X, Eigen::VectorXd z, Eigen::ArrayXd t, bool portable) {
  Eigen::ArrayXd distances(X.rows());
  if (portable) {
    squared_distances_portable(X, z, distances);
    exp_minus_portable(t);
  } else {
    squared_distances(X, z, distances);
    exp_minus(t);
  }
  return Rcpp::List::create(Rcpp::Named("distances") = distances, Rcpp::Named("exp_minus") = t);
}
