#include "numeric/sparse_cholesky.h"

#include <cmath>

#include "numeric/dense.h"
#include "numeric/sparse_symbolic.h"

// The multifrontal method (Liu 1990; Davis 2006, section 4): a supernode's front sums its entries of A and the
// update matrices of its children; its own columns are eliminated; what is left is its update matrix. All
// arithmetic is dense, on fronts that grow towards the root of the tree.
namespace galvi {
namespace {

using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

// Panel and update matrix take a child's update matrix, lower triangles only.
void extend_add(const double* child, int size, const int* row_in_front, int w, Map panel, Map update) {
  int inside = 0;  // rows that are columns of this supernode
  while (inside < size && row_in_front[inside] < w) ++inside;
  for (int j = 0; j < size; ++j) {
    const double* column = child + static_cast<Index>(j) * size;
    const int at = row_in_front[j];
    if (j < inside) {
      for (int i = j; i < inside; ++i) panel(row_in_front[i], at) += column[i];
      for (int i = inside; i < size; ++i) panel(at, row_in_front[i]) += column[i];
    } else {
      double* to = &update(0, at - w) - w;
      for (int i = j; i < size; ++i) to[row_in_front[i]] += column[i];
    }
  }
}

// A small front is not worth the calls that a large one is: below, w (w + r) is about ...
bool is_small(const Supernode& node) { return node.columns <= 8 && node.front() <= 48; }

// L11 <- cholesky(A11), L21' <- L11^-1 A21', U <- U - L21 L21', by loops.
bool eliminate_small(Map panel, Map update, Matrix& scratch) {
  const Index w = panel.rows(), r = update.rows();
  scratch.resize(r, w);
  scratch = panel.rightCols(r).transpose();
  for (Index c = 0; c < w; ++c) {
    for (Index k = 0; k < c; ++k) {
      panel.col(c).tail(w - c) -= panel(c, k) * panel.col(k).segment(c, w - c);
      scratch.col(c) -= panel(c, k) * scratch.col(k);
    }
    const double pivot = panel(c, c);
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    panel.col(c).tail(w - c) /= std::sqrt(pivot);
    scratch.col(c) /= std::sqrt(pivot);
  }
  panel.rightCols(r) = scratch.transpose();
  for (Index j = 0; j < r; ++j) {
    update.col(j).tail(r - j).noalias() -=
        scratch.bottomRows(r - j).lazyProduct(scratch.row(j).transpose());
  }
  return true;
}

bool eliminate_large(Context& context, Map panel, Map update) {
  const Index w = panel.rows(), r = update.rows();
  if (!cholesky(context, panel.leftCols(w))) return false;
  solve_lower(context, panel.leftCols(w), panel.rightCols(r));
  add_crossproduct(context, -1.0, panel.rightCols(r), 1.0, update);
  return true;
}

}  // namespace

SparseCholesky::SparseCholesky(const SparseMatrix& lower)
    : symbolic_(std::make_shared<const SparseSymbolic>(lower)), panels_(symbolic_->panels) {}

bool SparseCholesky::factorise(Context& context, const ConstVectorRef& values) {
  const SparseSymbolic& symbolic = *symbolic_;
  const int factorisations = context.cost.factorisations + 1;  // one, in however many blocks
  Vector stacks[2] = {Vector(symbolic.updates[0]), Vector(symbolic.updates[1])};
  const auto update_of = [&](const Supernode& node) { return stacks[node.level % 2].data() + node.update; };
  Matrix scratch;
  log_det_ = 0.0;
  for (const Supernode& node : symbolic.supernodes) {
    context.monitor.poll();
    const int w = node.columns, r = node.rows;
    Map panel(panels_.data() + node.panel, w, w + r), update(update_of(node), r, r);
    panel.setZero();
    update.setZero();
    for (Index k = node.first_entry; k < node.first_entry + node.entries; ++k) {
      const FrontEntry& entry = symbolic.entries[k];
      (entry.row < w ? panel(entry.row, entry.column) : panel(entry.column, entry.row)) =
          values[entry.value];
    }
    for (int c = node.last_child; c != -1; c = symbolic.supernodes[c].previous_sibling) {
      const Supernode& child = symbolic.supernodes[c];
      extend_add(update_of(child), child.rows, &symbolic.row_in_parent[child.first_row], w, panel, update);
    }
    const bool done =
        is_small(node) ? eliminate_small(panel, update, scratch) : eliminate_large(context, panel, update);
    context.cost.factorisations = factorisations;
    if (!done) return false;
    for (int k = 0; k < w; ++k) log_det_ += 2.0 * std::log(panel(k, k));
  }
  return true;
}

Matrix SparseCholesky::permuted(const ConstMatrixRef& B) const {
  Matrix X(B.rows(), B.cols());
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index k = 0; k < B.rows(); ++k) X(k, j) = B(symbolic_->order[k], j);
  }
  return X;
}

void SparseCholesky::permute_back(const ConstMatrixRef& X, MatrixRef B) const {
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index k = 0; k < B.rows(); ++k) B(symbolic_->order[k], j) = X(k, j);
  }
}

void SparseCholesky::forward(Context& context, MatrixRef X) const {
  Matrix below;
  for (const Supernode& node : symbolic_->supernodes) {
    context.monitor.poll();
    const int w = node.columns, r = node.rows;
    const ConstMap panel(panels_.data() + node.panel, w, w + r);
    const int* rows = symbolic_->rows.data() + node.first_row;
    auto own = X.middleRows(node.first, w);
    if (own.isZero(0.0)) continue;
    panel.leftCols(w).triangularView<Eigen::Lower>().solveInPlace(own);
    below.noalias() = panel.rightCols(r).transpose() * own;
    for (Index j = 0; j < X.cols(); ++j) {
      for (int i = 0; i < r; ++i) X(rows[i], j) -= below(i, j);
    }
  }
}

void SparseCholesky::backward(Context& context, MatrixRef X) const {
  Matrix below;
  for (int s = symbolic_->count() - 1; s >= 0; --s) {
    const Supernode& node = symbolic_->supernodes[s];
    context.monitor.poll();
    const int w = node.columns, r = node.rows;
    const ConstMap panel(panels_.data() + node.panel, w, w + r);
    const int* rows = symbolic_->rows.data() + node.first_row;
    auto own = X.middleRows(node.first, w);
    below.resize(r, X.cols());
    for (Index j = 0; j < X.cols(); ++j) {
      for (int i = 0; i < r; ++i) below(i, j) = X(rows[i], j);
    }
    own.noalias() -= panel.rightCols(r) * below;
    panel.leftCols(w).triangularView<Eigen::Lower>().transpose().solveInPlace(own);
  }
}

void SparseCholesky::solve_lower(Context& context, MatrixRef B) const {
  Matrix X = permuted(B);
  forward(context, X);
  B = X;
}

void SparseCholesky::solve_lower_transposed(Context& context, MatrixRef B) const {
  Matrix X = B;
  backward(context, X);
  permute_back(X, B);
}

void SparseCholesky::solve(Context& context, MatrixRef B) const {
  Matrix X = permuted(B);
  forward(context, X);
  backward(context, X);
  permute_back(X, B);
}

}  // namespace galvi
