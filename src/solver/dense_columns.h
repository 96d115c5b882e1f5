// The whitened columns of all terms side by side, W~ (N x q), never held whole: everything that comes from
// them is a sum over rows, taken chunk by chunk.
#pragma once

#include <functional>

#include "prior/prior.h"

namespace galvi {

/// f's part of these columns is W~ u, u = (coefficient - mean) / scale, where the prior precision of u is one
/// (zero in flat directions, which keep unit scale).
class DenseColumns {
 public:
  DenseColumns(Context& context, const Prior& prior, const DesignRows& rows);
  /// To be called when the prior's hyperparameters have changed.
  void refresh();

  Index size() const { return size_; }                    // q
  Index begin(Index t) const { return begin_[t]; }  // term t's first column
  const Vector& mean() const { return mean_; }            // q
  const Vector& scale() const { return scale_; }          // q
  const Vector& precision() const { return precision_; }  // q
  Index null_dimension() const { return null_dimension_; }

  /// v += diag(W~ W~') + c, infinite where the prior is flat, and c itself: N, or empty for zero.
  void add_prior_variances(VectorRef v, Vector& c) const;
  const DesignRows& rows() const { return design_; }
  void fill(Index begin, MatrixRef chunk) const;
  Vector row(Index n) const;
  Vector project(const Vector& x) const;  // W~' x
  Vector expand(const Vector& u) const;   // W~ u

  /// Calls body for every chunk of rows: the chunks of a group in order, groups in parallel, so that sums
  /// within groups that are then added in their order do not depend on threads.   flops: its rough cost
  using ChunkBody = std::function<void(Index group, Index begin, MatrixRef chunk)>;
  Index groups() const;
  void for_chunks(double flops, const ChunkBody& body) const;
  /// The same, where `merge` follows body on the calling thread, all chunks in order.
  void for_chunks_in_order(double flops, const ChunkBody& body, const ChunkBody& merge) const;

  /// Throws if columns with a flat prior are collinear to working precision. `diagonal` is that of their
  /// posterior precision with all else eliminated, `variance` that of its inverse.   q each
  void check_collinear(const ConstVectorRef& diagonal, const ConstVectorRef& variance) const;
  [[noreturn]] static void throw_collinear();

 private:
  Index chunk_rows() const;
  Index chunks() const { return (rows_ + chunk_rows() - 1) / chunk_rows(); }
  void fill_and(const ChunkBody& body, Index group, Index chunk, Matrix& buffer) const;

  Context& context_;
  const Prior& prior_;
  const DesignRows& design_;
  Index rows_, size_ = 0;
  std::vector<Index> begin_;
  Vector mean_, scale_, precision_;
  Index null_dimension_ = 0;
};

/// The gradient of the bound through all terms' columns and c.
class ColumnGradients {
 public:
  ColumnGradients(const Prior& prior, const DenseColumns& columns);
  /// Of a chunk: W~, G = d bound / dW~ and g = d bound / dc.
  void add(Index group, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
           const ConstVectorRef& g);
  /// hyper[h] += d bound / dh.
  void finish(VectorRef hyper);

 private:
  const Prior& prior_;
  const DenseColumns& columns_;
  std::vector<std::vector<std::unique_ptr<ColumnGradient>>> sums_;  // by group and term
};

}  // namespace galvi
