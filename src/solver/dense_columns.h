// The whitened columns of all terms side by side, W~ (N x q). All that is computed from them is a sum over rows,
// taken chunk by chunk, so that they need not be stored: unless they are few they are computed again in every pass.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "prior/prior.h"

namespace galvi {

/// A prior's columns (prior/prior.h) at the rows of a design and the prior's current hyperparameters.
class DenseColumns {
 public:
  DenseColumns(Context& context, const Prior& prior, const DesignRows& rows)
      : context_(context), prior_(prior), design_(rows), rows_(rows.size()) {}

  /// To be called when the prior's hyperparameters have changed.
  void refresh();

  const Prior& prior() const { return prior_; }
  Index size() const { return prior_.columns(); }  // q

  /// v += diag(W~ W~') + c (infinite where the prior is flat), and c itself: N, or empty if it is zero.
  void add_prior_variances(VectorRef v, Vector& c) const;
  void fill(Index begin, MatrixRef chunk) const { prior_.fill(design_, begin, chunk); }
  /// X of W~ = X T, where the prior has fixed columns.
  void fill_fixed(Index begin, MatrixRef chunk) const { prior_.fill_fixed(design_, begin, chunk); }
  Vector row(Index n) const;
  Vector project(const Vector& x) const;  // W~' x
  Vector expand(const Vector& u) const;   // W~ u
  void add_expanded(const Vector& u, VectorRef out) const;  // out += W~ u

  /// Calls body for every chunk of rows: the chunks of a group in order, groups in parallel. Sums within
  /// groups that are then added in order do not depend on the number of threads.   flops: approximate cost
  using ChunkBody = std::function<void(Index group, Index begin, const ConstMatrixRef& chunk)>;
  Index groups() const;
  void for_chunks(double flops, const ChunkBody& body) const;
  /// The same; after each call of body, `merge` runs on the calling thread for all chunks in order.
  void for_chunks_in_order(double flops, const ChunkBody& body, const ChunkBody& merge) const;
  /// As for_chunks(), for the X of fill_fixed().
  void for_fixed_chunks(double flops, const ChunkBody& body) const;

 private:
  Index chunk_rows() const;
  Index chunks() const { return (rows_ + chunk_rows() - 1) / chunk_rows(); }
  Index rows_of(Index chunk) const { return std::min(chunk_rows(), rows_ - chunk * chunk_rows()); }
  ConstMatrixRef whitened(Index chunk, Matrix& buffer) const;
  using ChunkOf = std::function<ConstMatrixRef(Index chunk, Matrix& buffer)>;
  void for_chunks(double flops, const ChunkOf& chunk_of, const ChunkBody& body) const;

  Context& context_;
  const Prior& prior_;
  const DesignRows& design_;
  Index rows_;
  // The chunks that have been computed since refresh(), where all of them are few numbers; else no elements.
  struct Kept {
    Matrix chunk;
    bool valid = false;
  };
  mutable std::vector<Kept> kept_;
};

/// The gradient of the bound through the columns and c: sums within groups of chunks.
class ColumnGradients {
 public:
  ColumnGradients(const Prior& prior, const DesignRows& rows, Index groups)
      : prior_(prior), rows_(rows), sums_(Matrix::Zero(prior.gradient_size(), groups)) {}
  /// For a chunk: W~, G = d bound / dW~ and g = d bound / dc.
  void add(Index group, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
           const ConstVectorRef& g) {
    prior_.add_gradient(rows_, begin, W, G, g, sums_.col(group));
  }
  /// hyper[h] += d bound / dh.
  void finish(VectorRef hyper) const { prior_.finish_gradient(sums_.rowwise().sum(), hyper); }

 private:
  const Prior& prior_;
  const DesignRows& rows_;
  Matrix sums_;  // a column for each group
};

}  // namespace galvi
