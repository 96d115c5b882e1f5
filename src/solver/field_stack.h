// The fields of all terms side by side: one z of length L, one W, and the sparsity pattern of their products.
#pragma once

#include <memory>

#include "prior/field.h"
#include "prior/prior.h"
#include "solver/separable_forms.h"

namespace galvi {

class FieldStack {
 public:
  /// Keeps references to its arguments.
  FieldStack(const Prior& prior, const DesignRows& rows);
  /// Call after the fields' hyperparameters have changed.
  void refresh();

  Index size() const { return size_; }                        // L
  /// The field of term t, which must have one.
  Index first_node(Index t) const;
  const SparseRows& rows() const { return W_; }               // N x L
  /// W of other rows; for t >= 0 only the columns of term t.
  SparseRows design(const DesignRows& rows, Index t = -1) const;

  Index constraint_count() const { return constraints_.cols(); }
  const Matrix& constraints() const { return constraints_; }  // B, L x c
  const std::vector<Index>& pins() const { return pins_; }
  const Vector& pin_weights() const { return pin_weights_; }

  /// The pattern of the lower triangle of R + W' diag(lambda) W, with R the fields' pinned precisions.
  const SparseMatrix& pattern() const { return pattern_; }
  /// Its values at this lambda.
  Vector precision(Context& context, const Vector& lambda) const;
  /// The same on a pattern that has all pairs of the nodes of these rows of W besides.
  SparseMatrix precision(Context& context, const Vector& lambda, const SparseRows& W,
                         const std::vector<Index>& more) const;
  /// w_n' Z w_n for all rows, where `values` are those of Z on the pattern.
  Vector quadratic_forms(Context& context, const ConstVectorRef& values) const;
  /// The same for other rows, whose W is that of all terms (t = -1) or of term t; `unknown`: those with a pair of nodes
  /// that is not on the pattern, whose forms are incomplete.
  Vector quadratic_forms(Context& context, const ConstVectorRef& values, const DesignRows& others, Index t,
                         const SparseRows& W, std::vector<Index>& unknown) const;
  /// The rows of term t as products; null where they are not.
  const SeparableForms* separable(Index t) const;
  /// Position of (i, j) among the values; -1 if it is not on the pattern.
  Index position(Index i, Index j) const { return galvi::position(pattern_, i, j); }

  // Moments of the prior, constraints included.
  /// Approximate sum of the absolute terms of z' Q z.
  double size_of_terms(const Vector& z) const;
  Vector precision_times(const Vector& z) const;
  Matrix covariance_times(Context& context, const ConstMatrixRef& X) const;
  Matrix whitened(Context& context, const ConstMatrixRef& X) const;  // see Field
  double log_det(Context& context) const;
  double jitter() const;  // the largest of the fields
  Vector row_variances(Context& context) const;  // diag(W Q^- W')

  /// hyper[h] += d (log|Q| / 2) / dh + sum over Q's pattern of G_ij dQ_ij / dh; `entry` gives G_ij of the
  /// lower triangle from (i, j) and its place among the values.
  using Entry = std::function<double(Index i, Index j, Index position)>;
  void add_gradient(Context& context, const Entry& entry, VectorRef hyper) const;

 private:
  /// The weights of the rows that depend on hyperparameters.
  void refresh_rows();
  void add_pairs();
  struct Part {
    const Field* field;
    Index term, begin;
    SparseRows rows;                              // empty where they are products
    std::shared_ptr<SeparableForms> separable;    // null where they are not
    IndexVector positions;  // of R's values among the pattern's
  };
  const Part& part_of(Index t) const;
  SparseRows rows_of(const Part& part) const;
  void join_rows();
  /// f(i, j, weight) for the lower triangle of w_n w_n', without pairs inside a part whose rows are products.
  template <class F>
  void for_pairs(const SparseRows& W, Index n, const F& f) const;

  const Prior& prior_;
  const DesignRows& design_;
  std::vector<Part> parts_;
  Index size_ = 0;
  SparseRows W_;
  Matrix constraints_;
  std::vector<Index> pins_;
  Vector pin_weights_;
  SparseMatrix pattern_;
  Vector base_;  // R
  // All pairs of nodes that a row touches, row after row: w_n w_n' on the pattern, without those inside parts whose rows
  // are products.
  struct Pair {
    int position;      // among the pattern's values
    int multiplicity;  // 1 for a node with itself, 2 for two nodes, as the pattern is a triangle
    double weight;
  };
  std::vector<Pair> pairs_;
  std::vector<std::size_t> pairs_end_;  // of each row
};

}  // namespace galvi
