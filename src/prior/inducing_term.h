// A sparse Gaussian process: the whitened values at M inducing points, and the variance they leave at each
// row.
#pragma once

#include "numeric/backend.h"
#include "prior/low_rank_term.h"

namespace galvi {

/// With K_zz = L L' the covariance of the points and k_n their covariance with row n, the row is w_n' u +
/// noise, where u ~ N(0, I), w_n = L^-1 k_n and the noise has the variance c_n = k_nn - |w_n|^2. A number `by`
/// multiplies k_n; with a factor `by` every group has values u of its own at the same points, and may have a
/// kernel of its own.
///
/// Where the term has a centre, with rows r of weight a_r, the row is (w_n - w)'u + noise with w = sum_r a_r w_r, for
/// each group apart: what is subtracted is what the points know of the process's mean over these rows, E[mean | u].
/// The noise stays as it is.
///
/// L is found by pivoting: a point whose value the points before it determine (a duplicate) is left out and
/// has a column of zeros, the limit of a vanishing jitter.
class InducingTerm final : public LowRankTerm {
 public:
  InducingTerm(const TermSpec& spec, const Backend& backend);

  void update(const ConstVectorRef& hyper) override;
  void hold_basis(bool held) override { held_ = held; }
  Index kernels() const override { return static_cast<Index>(kernels_.size()); }
  const CentreSpec* centre() const override { return &centre_; }
  Matrix centre_columns() const override;
  void check(const TermRows& rows) const override;

  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override {
    add_diagonal(context, GroupKernels(kernels_), rows.kernel, d);
  }

  Index columns() const override { return coefficient_mean_.size(); }
  const Vector& coefficient_mean() const override { return coefficient_mean_; }
  const Vector& coefficient_variance() const override { return coefficient_variance_; }
  void fill(const TermRows& rows, Index begin, MatrixRef W) const override;
  bool has_extra_variances() const override { return true; }
  void add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef& W,
                           VectorRef c) const override;
  Index gradient_size() const override;
  void add_gradient(const TermRows& rows, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef& g, VectorRef sums) const override;
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const override;
  /// The process at the old points given the present ones: Bui, Nguyen and Turner (2017).
  bool recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const override;

 private:
  /// The points under one kernel.
  struct Basis {
    std::vector<Index> kept;  // the points that are kept, in the order of the pivots
    std::vector<Index> left_out;
    Matrix Z;             // their coordinates: r x p
    Matrix inverse_chol;  // L^-1, r x r
    Index rank() const { return Z.rows(); }
    Index numbers() const { return Z.size() + rank() * rank(); }  // of its sums for the gradient
  };

  void factorise_held(Basis& basis, Matrix& K) const;
  void find_means();
  Index kernel_of(Index group) const { return kernels_.size() > 1 ? group : 0; }
  Index group_of_row(const KernelRows& rows, Index n) const { return groups_ > 1 ? rows.group[n] - 1 : 0; }
  Index means_size() const;
  void add_mean_gradient(Index group, const Vector& h, Matrix& points, VectorRef hyper) const;
  /// Where the columns of row n's group begin.
  Index first_column(const KernelRows& rows, Index n) const {
    return groups_ > 1 ? (rows.group[n] - 1) * points() : 0;
  }
  /// visit(k, at): rows begin + at are those with the k-th kernel, of rows begin .. begin + n - 1.
  template <class F>
  void for_kernels(const KernelRows& rows, Index begin, Index n, const F& visit) const;
  Index points() const { return spec_.coordinates.rows(); }

  std::vector<std::unique_ptr<Kernel>> kernels_;  // one, or one for each group
  std::vector<Basis> bases_;                      // one for each kernel
  InducingSpec spec_;
  CentreSpec centre_;
  Index groups_;
  const Backend& backend_;
  Vector coefficient_mean_, coefficient_variance_;
  Index hypers_ = 0;  // length of the table

  bool held_ = false;  // the points that are kept and their order, once known
  std::vector<Vector> means_;  // w of each group; empty without a centre
};

}  // namespace galvi
