// Quadratic forms of rows whose weights are products: W' Lambda W, w_n' Z w_n and the gradient through W, moment by
// moment as products of matrices. Pairs of a row's nodes are never listed.
#pragma once

#include "numeric/context.h"
#include "numeric/sparse_cholesky.h"
#include "prior/separable_rows.h"

namespace galvi {

class SeparableForms {
 public:
  /// The rows of a field whose nodes begin at `begin` among all; their weights are zero until weigh().
  SeparableForms(const Term& term, const TermRows& rows, Index begin);
  /// Call after the hyperparameters have changed.
  void weigh() { term_.weigh(rows_); }
  const SeparableRows& rows() const { return rows_; }
  SparseRows expanded() const;

  /// Entries of all pairs of nodes that any row of the term may touch.
  void add_pattern(std::vector<Eigen::Triplet<double>>& entries) const;

  /// values += those of W' diag(lambda) W.
  void add_precision(Context& context, const SparseMatrix& pattern, const Vector& lambda, Vector& values) const;
  /// out_n += w_n' Z w_n, where `values` are those of Z.
  void add_quadratic_forms(Context& context, const SparseMatrix& pattern, const ConstVectorRef& values,
                           Vector& out) const;
  /// The gradient with d bound / dW = 2 diag(weight) W Z.
  void add_gradient(Context& context, const SparseMatrix& pattern, const ConstVectorRef& values, const Vector& weight,
                    SeparableGradient& sums) const;

 private:
  class Blocks;
  Index count(Index t) const { return rows_.first_row[t + 1] - rows_.first_row[t]; }
  Matrix places(Index t) const;
  double work() const;

  const Term& term_;
  SeparableRows rows_;
  Index begin_;
};

}  // namespace galvi
