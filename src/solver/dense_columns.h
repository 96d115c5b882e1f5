// The whitened columns of all terms side by side, W_d (N x q), chunk of rows by chunk of rows.
#pragma once

#include <functional>

#include "prior/term.h"

namespace galvi {

class DenseColumns {
 public:
  DenseColumns(Context& context, const Terms& terms, Index rows);
  /// To be called after the terms' own.
  void update();

  Index size() const { return size_; }  // q
  /// Where term t's columns begin.
  Index begin(Index t) const { return begin_[t]; }
  /// Prior precision of the whitened coefficients: 1, and 0 where flat.   q
  const Vector& precision() const { return precision_; }
  Index null_dimension() const { return null_dimension_; }
  /// Factor from whitened coefficients to the terms' own.   q
  const Vector& scale() const { return scale_; }

  /// Slots run in parallel, each with its chunks in order; `merge` follows on the calling thread, all chunks
  /// in order. Nothing depends on threads.
  static constexpr Index slots = 8;
  using Body = std::function<void(Index slot, Index begin, MatrixRef chunk)>;
  void for_chunks(const Body& body, const Body& merge = {}) const;

  void fill(Index begin, MatrixRef chunk) const;
  /// c of rows begin .. whose columns are `chunk`.
  void add_extra_variances(Index begin, const ConstMatrixRef& chunk, VectorRef c) const;
  Vector project(const Vector& x) const;  // W_d' x
  Vector expand(const Vector& u) const;   // W_d u

  [[noreturn]] static void throw_collinear();

 private:
  Index chunk_rows() const;

  Context& context_;
  const Terms& terms_;
  Index rows_, size_ = 0;
  std::vector<Index> begin_;
  Vector precision_, scale_;
  Index null_dimension_ = 0;
};

}  // namespace galvi
