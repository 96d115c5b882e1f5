// Covariance matrices of many rows, tile by tile and threaded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernel/kernel.h"
#include "numeric/context.h"

namespace galvi {

/// The rows a kernel term sees: cov(i, j) = by_i by_j [group_i == group_j] k(X_i, X_j).
/// `by` may be empty (all one) and `group` may be empty (all the same).
struct KernelRows {
  Matrix inputs;          // n x p
  Vector by;              // n or 0
  Eigen::VectorXi group;  // n or 0
};

/// The kernel of each group of rows: one that all share, or one for each group. Does not own them. `centred`: values are
/// those of a process that has mean zero over some rows, less the kernel's constant.
class GroupKernels {
 public:
  GroupKernels(const Kernel& shared) : kernels_{&shared} {}  // NOLINT: a kernel is one that all groups share
  explicit GroupKernels(const std::vector<std::unique_ptr<Kernel>>& kernels, bool centred = false)
      : centred_(centred) {
    for (const auto& kernel : kernels) kernels_.push_back(kernel.get());
  }
  bool centred() const { return centred_; }
  bool shared() const { return kernels_.size() == 1; }
  const Kernel& of(int group) const { return *kernels_[shared() ? 0 : group - 1]; }
  /// How many groups can be told apart; one if they share their kernel.
  Index size() const { return static_cast<Index>(kernels_.size()); }

 private:
  bool centred_ = false;
  std::vector<const Kernel*> kernels_;
};

/// K (n x n) += the covariance of the rows, lower triangle only.
void add_gram(Context& context, const GroupKernels& kernels, const KernelRows& rows, MatrixRef K);
/// The same, and the product of that covariance with x; this alone if K is empty.   n
Vector add_gram_and_product(Context& context, const GroupKernels& kernels, const KernelRows& rows, const Vector& x,
                            MatrixRef K);
/// K (a x b) += cov(rows, others).
void add_cross(Context& context, const GroupKernels& kernels, const KernelRows& rows, const KernelRows& others,
               MatrixRef K);
/// d (n) += the variances.
void add_diagonal(Context& context, const GroupKernels& kernels, const KernelRows& rows, VectorRef d);

/// Fills tile (r x c) with G(row0 + i, col0 + j) for a symmetric n x n weight matrix that is never held
/// whole. Called on several threads, for tiles in the lower triangle (row0 >= col0); of a tile on the
/// diagonal only the lower triangle is read.
using TileSource = std::function<void(Index row0, Index col0, MatrixRef tile)>;

/// hyper[h] += sum_ij G_ij dcov(i, j)/dh over the full symmetric matrix (both triangles).
void add_gram_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows,
                       const TileSource& G, VectorRef hyper);
/// hyper[h] += sum_ij G_ij dcov(rows_i, others_j)/dh.   G: a x b
void add_cross_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows, const KernelRows& others,
                        const ConstMatrixRef& G, VectorRef hyper);
/// The derivatives of sum_ij G_ij cov(i, j) in `by`, which has a number for each row.   n
Vector by_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows, const TileSource& G);

}  // namespace galvi
