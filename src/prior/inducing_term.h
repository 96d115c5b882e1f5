// A sparse Gaussian process: the values at M inducing points, whitened, and what they leave open at each row.
#pragma once

#include "numeric/backend.h"
#include "prior/term.h"

namespace galvi {

/// With K_zz = L L' the covariance of the points and k_n that of row n with them, the row is w_n' u + noise,
/// where u ~ N(0, I), w_n = L^-1 k_n and the noise has the variance c_n = k_nn - |w_n|^2. A number `by`
/// multiplies k_n; with a factor `by` every group has values u of its own at the same points.
///
/// L is had by pivoting: a point whose value the points before it determine (a duplicate) is left out and has
/// a column of zeros, which is what any jitter would come to.
class InducingTerm final : public Term {
 public:
  InducingTerm(const TermSpec& spec, const Backend& backend);

  void update(const ConstVectorRef& hyper) override;
  void hold_basis(bool held) override { held_ = held; }

  void add_covariance(Context& context, MatrixRef K) const override { add_covariance_of(context, rows_, K); }
  void add_variances(Context& context, VectorRef d) const override {
    add_diagonal(context, *kernel_, rows_, d);
  }
  void add_cross(Context& context, const TermRows& others, MatrixRef K) const override;
  void add_variances(Context& context, const TermRows& others, VectorRef d) const override {
    add_diagonal(context, *kernel_, others.kernel, d);
  }
  void add_covariance(Context& context, const TermRows& others, MatrixRef K) const override {
    add_covariance_of(context, others.kernel, K);
  }
  void add_covariance_gradient(Context& context, const Weights& G, VectorRef hyper) const override;

  Index columns() const override { return coefficient_mean_.size(); }
  const Vector& coefficient_mean() const override { return coefficient_mean_; }
  const Vector& coefficient_variance() const override { return coefficient_variance_; }
  void fill(Index begin, MatrixRef W) const override { fill(rows_, begin, W); }
  void fill(const TermRows& others, MatrixRef W) const override { fill(others.kernel, 0, W); }
  bool has_extra_variances() const override { return true; }
  void add_extra_variances(Index begin, const ConstMatrixRef& W, VectorRef c) const override {
    add_extra_variances(rows_, begin, W, c);
  }
  void add_extra_variances(const TermRows& others, const ConstMatrixRef& W, VectorRef c) const override {
    add_extra_variances(others.kernel, 0, W, c);
  }
  std::unique_ptr<ColumnGradient> column_gradient() const override;

 private:
  class Gradient;

  void fill(const KernelRows& rows, Index begin, MatrixRef W) const;
  void add_extra_variances(const KernelRows& rows, Index begin, const ConstMatrixRef& W, VectorRef c) const;
  Matrix columns_of(const KernelRows& rows) const;
  void add_covariance_of(Context& context, const KernelRows& rows, MatrixRef K) const;
  /// Of the group that row n belongs to.
  Index first_column(const KernelRows& rows, Index n) const {
    return groups_ > 1 ? (rows.group[n] - 1) * points() : 0;
  }
  Index points() const { return spec_.coordinates.rows(); }

  KernelRows rows_;
  std::unique_ptr<Kernel> kernel_;
  InducingSpec spec_;
  Index groups_;
  const Backend& backend_;
  Vector coefficient_mean_, coefficient_variance_;
  Index hypers_ = 0;  // length of the table

  bool held_ = false;        // the points that count and their order, once they are known
  std::vector<Index> kept_;  // the points that count, in the order of the pivots
  Matrix Z_;                 // these: r x p
  Matrix inverse_chol_;      // L^-1, r x r
};

}  // namespace galvi
