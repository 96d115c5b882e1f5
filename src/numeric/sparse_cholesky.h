// Positive definite matrices that are mostly zeros, such as the precision of a Gaussian Markov random field.
// A minimum degree order, an elimination tree, supernodes and the layout of all fronts are found once per
// pattern. The factorisation adds dense fronts up the tree (Liu 1992); the inverse hands them down
// (Takahashi, Fagan and Chen 1973). Small fronts are loops, large ones are dense.h's.
#pragma once

#include <functional>
#include <memory>

#include "numeric/eigen_sparse.h"
#include "numeric/context.h"

namespace galvi {

using SparseMatrix = Eigen::SparseMatrix<double>;  // by columns, int indices

struct SparseSymbolic;
struct Branch;

/// What a factorisation takes: the numbers of L, and multiply-adds.
struct FactorSize {
  double entries, work;
};

/// A = P' L L' P (n x n), analysed once for its pattern and factorised as often as its values change. A is
/// given by its lower triangle; a copy shares the analysis. Threads take branches of the tree, then parts of large fronts,
/// with the same result for any number of them.
class SparseCholesky {
 public:
  /// `lower`: the lower triangle, compressed, rows ascending, with all of the diagonal; only its pattern
  /// matters. Throws std::invalid_argument for anything else.
  explicit SparseCholesky(const SparseMatrix& lower);

  FactorSize size() const;

  /// `values`: one for each entry of the pattern, in the order of lower.valuePtr(). False if A is not
  /// positive definite; the functions below must then not be called.
  bool factorise(Context& context, const ConstVectorRef& values);

  double log_det() const { return log_det_; }

  /// B <- A^-1 B, L^-1 P B and P' L^-T B, n x k. The first is the second, then the third:
  /// |L^-1 P b|^2 = b' A^-1 b, and P' L^-T e has the covariance A^-1 where e is white noise.
  /// Where B is zero but for a few rows, only what depends on these is computed.
  void solve(Context& context, MatrixRef B) const;
  void solve_lower(Context& context, MatrixRef B) const;
  void solve_lower_transposed(Context& context, MatrixRef B) const;

  /// A^-1 where A has entries: a lower triangle with the entries of the analysed one, in the same order (the
  /// first of a column is the diagonal's).
  SparseMatrix selected_inverse(Context& context) const;

 private:
  /// Eliminates a branch's supernodes; `handed`: what branches hand over. False if A is not positive definite.
  bool factorise(Context& context, const Branch& branch, const ConstVectorRef& values, Vector& handed,
                 double& log_det);
  void invert(Context& context, const Branch& branch, Vector& handed, SparseMatrix& result) const;
  /// body(context of its own, branch) for all branches, on threads; work: flops of all.
  void over_branches(Context& context, double work, const std::function<void(Context&, Index)>& body) const;
  Matrix permuted(const ConstMatrixRef& B) const;
  void permute_back(const ConstMatrixRef& X, MatrixRef B) const;
  void forward(MatrixRef X) const;
  void backward(MatrixRef X) const;
  template <typename Body>
  void over_columns(Context& context, double passes, MatrixRef B, const Body& body) const;

  std::shared_ptr<const SparseSymbolic> symbolic_;
  Vector panels_;  // L, as SparseSymbolic lays it out
  double log_det_ = 0.0;
};

}  // namespace galvi
