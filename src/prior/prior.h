// A Gaussian prior over linear predictors: the sum of its terms.
#pragma once

#include "prior/term.h"

namespace galvi {

class Prior {
 public:
  explicit Prior(std::vector<std::unique_ptr<Term>> terms);

  auto begin() const { return terms_.begin(); }
  auto end() const { return terms_.end(); }
  Index size() const { return static_cast<Index>(terms_.size()); }
  const Term& operator[](Index t) const { return *terms_[t]; }

  /// Reads the hyperparameters from the model's table (natural scale).
  void update(const ConstVectorRef& hyper);
  void hold_basis(bool held);
  bool centred() const;  // whether any term is

  // Each of these is the sum over the terms: see Term.
  Vector mean(const DesignRows& rows) const;
  void add_mean(const DesignRows& rows, Index begin, VectorRef mean) const;
  void add_mean_gradient(const DesignRows& rows, const ConstVectorRef& g, VectorRef hyper) const;
  void add_covariance(Context& context, const DesignRows& rows, MatrixRef K) const;
  void add_variances(Context& context, const DesignRows& rows, VectorRef d) const;
  void add_cross(Context& context, const DesignRows& rows, const DesignRows& others, MatrixRef K) const;
  void add_covariance_gradient(Context& context, const DesignRows& rows, const Weights& G,
                               VectorRef hyper) const;
  /// A root of each term's covariance, with `most` columns in all; none if they take more.
  std::vector<LowRank> roots(Context& context, const DesignRows& rows, Index most) const;
  /// G: beside the roots side by side
  void add_root_gradient(Context& context, const DesignRows& rows, const std::vector<LowRank>& roots,
                         const RootWeights& G, VectorRef hyper) const;

  // The whitened columns of all terms side by side: their part of f is W u with u = (coefficient - mean) /
  // scale, whose prior precision is one (zero in flat directions, which keep unit scale).
  Index columns() const { return columns_; }                     // q
  Index first_column(Index t) const { return first_column_[t]; }  // of term t
  const Vector& coefficient_mean() const { return coefficient_mean_; }  // q
  const Vector& scale() const { return scale_; }                        // q
  const Vector& precision() const { return precision_; }                // q
  /// The number of columns with a flat prior.
  Index null_dimension() const { return null_dimension_; }
  /// Whether z consists of the columns' coefficients alone.
  bool finite() const;
  /// W of rows begin, begin + 1, .., as Term::fill().   n x q
  void fill(const DesignRows& rows, Index begin, MatrixRef W) const;
  /// Whether W = X T for all columns; X of rows begin, begin + 1, .., and X <- X T: see Term.   n x q
  bool fixed_columns() const { return fixed_columns_; }
  void fill_fixed(const DesignRows& rows, Index begin, MatrixRef X) const;
  void whiten(MatrixRef X) const;
  bool has_extra_variances() const;
  void add_extra_variances(const DesignRows& rows, Index begin, const ConstMatrixRef& W, VectorRef c) const;
  /// v (n) += diag(W W'), infinite where the prior is flat.
  void add_column_variances(const ConstMatrixRef& W, VectorRef v) const;
  /// Throws std::domain_error if columns with a flat prior are collinear to working precision. `diagonal` is
  /// the diagonal of their posterior precision with all else eliminated, `variance` that of its inverse.   q
  /// each
  void check_collinear(const ConstVectorRef& diagonal, const ConstVectorRef& variance) const;
  [[noreturn]] static void throw_collinear();
  // The gradient through the columns: see Term.
  Index gradient_size() const;
  void add_gradient(const DesignRows& rows, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef& g, VectorRef sums) const;
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const;
  /// Term::recall of all terms. Throws std::invalid_argument if `old` has other terms.
  void recall(const Prior& old, Matrix& B, Vector& shift, Matrix& left) const;

 private:
  void recall_level(const Prior& old, Index t, Matrix& B, Matrix& left) const;

  std::vector<std::unique_ptr<Term>> terms_;
  std::vector<Index> first_column_;
  Index columns_ = 0, null_dimension_ = 0;
  bool fixed_columns_ = true;
  Vector coefficient_mean_, scale_, precision_;
};

}  // namespace galvi
