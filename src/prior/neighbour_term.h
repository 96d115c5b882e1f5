// A Gaussian process given its nearest neighbours (Vecchia 1988; Datta and others 2016): a sparse precision for any
// kernel and any number of inputs.
#pragma once

#include "prior/noisy_field_term.h"

namespace galvi {

/// A place given some nodes: f = weight' z + noise. Nothing else of it depends on the nodes.
struct GivenNodes {
  Vector weight;    // w = K^-1 k
  double variance;  // D = k_ii - w'k
};

/// z_i = w_i' z_N(i) + noise of variance D_i, where N(i) are the neighbours of node i, all before it, and w_i and D_i
/// are those of the process given its values at N(i). With B = I - (w), unit lower triangular,
///   Q = B' D^-1 B,   log|Q| = -sum log D_i,   Q^-1 = B^-1 D B^-T.
/// This is a process of its own, near that of the kernel. Where a D_i is too small a part of its variance to be
/// computed, all variances get a jitter, in K and in k_ii alike: white noise that is part of the process.
class NeighbourField final : public Field {
 public:
  /// `kernels`: one, or one for each group; outlive the field and are up to date when it is updated.
  NeighbourField(const std::vector<std::unique_ptr<Kernel>>& kernels, NeighbourSpec spec);

  void update(const ConstVectorRef& hyper) override;
  double jitter() const override { return jitter_; }

  Matrix covariance_times(Context& context, const ConstMatrixRef& X) const override;
  Matrix whitened(Context& context, const ConstMatrixRef& X) const override;
  double log_det(Context& context) const override;
  Vector covariances(Context& context) const override;
  void add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const override;

  const Matrix& places() const { return spec_.places; }
  /// A place beside these nodes, of which it may be one, under the kernel of a group (from 1, or 0 without groups).
  GivenNodes given(const ConstVectorRef& place, const std::vector<Index>& nodes, int group) const;
  /// hyper[h] += the gradient through w and D of given(), with d bound / dw and d bound / dD.
  void add_given_gradient(const ConstVectorRef& place, const std::vector<Index>& nodes, int group,
                          const ConstVectorRef& d_weight, double d_variance, VectorRef hyper) const;

 private:
  const Kernel& kernel_of(int group) const { return *kernels_[kernels_.size() > 1 ? group - 1 : 0]; }
  int group_of(Index node) const { return spec_.group.size() > 0 ? spec_.group[node] : 0; }
  bool find_weights();
  template <class F>
  void for_pairs(Index node, const F& f) const;
  void solve_transposed(Matrix& X) const;  // X <- B^-T X

  const std::vector<std::unique_ptr<Kernel>>& kernels_;
  NeighbourSpec spec_;
  std::vector<std::vector<Index>> neighbours_;  // of each node, ascending
  Matrix weight_;                        // m x L
  Vector variance_;                      // D
  double jitter_ = 0;                    // relative
  std::vector<int> positions_;           // of all pairs of a node and its neighbours among the values, node after node
  std::vector<std::size_t> first_pair_;  // of each node, and the end

  mutable std::optional<SparseCholesky> factor_;
  mutable Vector covariances_;  // empty until asked for
};

/// Rows at a node have its value; others are given their nearest nodes, which come with the rows, and independent of
/// each other. A number `by` multiplies the function; each level of a factor `by` has nodes of its own.
class NeighbourTerm final : public NoisyFieldTerm {
 public:
  explicit NeighbourTerm(const TermSpec& spec);

  Index kernels() const override { return static_cast<Index>(kernels_.size()); }
  void update(const ConstVectorRef& hyper) override;
  void check(const TermRows& rows) const override;

  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;

  bool has_extra_variances() const override { return between_; }
  void add_extra_variances(const TermRows& rows, Index begin, const ConstMatrixRef& W, VectorRef c) const override;

  const Field* field() const override { return &field_; }
  SparseRows field_design(const TermRows& rows) const override;
  bool moves_field_design() const override { return between_; }
  void add_field_design_gradient(const TermRows& rows, const ConstMatrixRef& G, const ConstVectorRef& g,
                                 VectorRef hyper) const override;

 private:
  void add_rows_gradient(const TermRows& rows, const Matrix& GS, const Vector& g, VectorRef hyper) const override;
  std::vector<Index> nodes_of(const TermRows& rows, Index n) const;
  GivenNodes given(const TermRows& rows, Index n, const std::vector<Index>& nodes) const;

  std::vector<std::unique_ptr<Kernel>> kernels_;
  bool between_;
  NeighbourField field_;
};

}  // namespace galvi
