#include "numeric/sparse_cholesky.h"

#include <algorithm>
#include <cmath>

#include "numeric/dense.h"
#include "numeric/parallel.h"
#include "numeric/quiet_monitor.h"
#include "numeric/sparse_symbolic.h"

// The multifrontal method (Liu 1992): a supernode's front sums its entries of A and the update matrices of
// its children; its own columns are eliminated; what is left is its update matrix. All arithmetic is dense,
// on fronts that grow towards the root of the tree.
namespace galvi {
namespace {

using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

// Up to this many right-hand sides are solved one by one: products of thin matrices cost more in calls.
constexpr Index most_by_column = 4;

// Panel and update matrix add a child's update matrix, lower triangles only.
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
      for (int i = j; i < size; ++i) update(row_in_front[i] - w, at - w) += column[i];
    }
  }
}

// L11 <- cholesky(A11), L21' <- L11^-1 A21', U <- U - L21 L21', by loops along the
// columns of L21, which are longer than those of L21'.
bool eliminate_small(Context& context, Map panel, Map update, Matrix& L21) {
  const Index w = panel.rows(), r = update.rows();
  L21 = panel.rightCols(r).transpose();
  for (Index c = 0; c < w; ++c) {
    for (Index k = 0; k < c; ++k) {
      panel.col(c).tail(w - c) -= panel(c, k) * panel.col(k).segment(c, w - c);
      L21.col(c) -= panel(c, k) * L21.col(k);
    }
    const double pivot = panel(c, c);
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    panel.col(c).tail(w - c) /= std::sqrt(pivot);
    L21.col(c) /= std::sqrt(pivot);
  }
  panel.rightCols(r) = L21.transpose();
  for (Index j = 0; j < r; ++j) {
    update.col(j).tail(r - j).noalias() -= L21.bottomRows(r - j).lazyProduct(L21.row(j).transpose());
  }
  context.cost.flops += static_cast<double>(w * (w * w / 3 + w * r + r * r));
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
    : symbolic_(std::make_shared<const SparseSymbolic>(lower)) {}

FactorSize SparseCholesky::size() const {
  double work = 0;
  for (const Supernode& node : symbolic_->supernodes) work += symbolic_->work(node);
  return {static_cast<double>(symbolic_->panels), work};
}

void SparseCholesky::over_branches(Context& context, double work,
                                   const std::function<void(Context&, Index)>& body) const {
  const Index branches = static_cast<Index>(symbolic_->branches.size());
  QuietMonitor quiet;
  std::vector<Context> own(branches, Context{context.backend, quiet});
  parallel_for(context, branches, work, [&](Index k) { body(own[k], k); });
  for (const Context& one : own) context.cost.flops += one.cost.flops;
}

bool SparseCholesky::factorise(Context& context, const ConstVectorRef& values) {
  const SparseSymbolic& symbolic = *symbolic_;
  panels_.resize(symbolic.panels);
  const int factorisations = context.cost.factorisations + 1;  // one, in however many blocks
  Vector handed(symbolic.handed);
  const std::size_t branches = symbolic.branches.size();
  std::vector<char> done(branches, false);
  std::vector<double> log_dets(branches, 0);
  over_branches(context, 2 * size().work, [&](Context& own, Index k) {
    done[k] = factorise(own, symbolic.branches[k], values, handed, log_dets[k]);
  });
  bool all = std::find(done.begin(), done.end(), false) == done.end();
  log_det_ = 0.0;
  for (const double part : log_dets) log_det_ += part;
  all = all && factorise(context, symbolic.trunk, values, handed, log_det_);
  context.cost.factorisations = factorisations;
  return all;
}

bool SparseCholesky::factorise(Context& context, const Branch& branch, const ConstVectorRef& values, Vector& handed,
                               double& log_det) {
  const SparseSymbolic& symbolic = *symbolic_;
  Vector stacks[2] = {Vector(branch.stacks.updates[0]), Vector(branch.stacks.updates[1])};
  const auto update_of = [&](const Supernode& node) {
    return (node.handed ? handed : stacks[node.level % 2]).data() + node.update;
  };
  Matrix L21;
  for (const auto& [begin, end] : branch.stretches)
    for (int s = begin; s < end; ++s) {
      const Supernode& node = symbolic.supernodes[s];
      context.monitor.poll();
      const int w = node.columns, r = node.rows;
      Map panel(panels_.data() + node.panel, w, w + r), update(update_of(node), r, r);
      panel.setZero();
      update.setZero();
      for (Index k = node.first_entry; k < node.first_entry + node.entries; ++k) {
        const FrontEntry& entry = symbolic.entries[k];
        (entry.row < w ? panel(entry.row, entry.column) : panel(entry.column, entry.row)) = values[entry.value];
      }
      for (int c = node.last_child; c != -1; c = symbolic.supernodes[c].previous_sibling) {
        const Supernode& child = symbolic.supernodes[c];
        extend_add(update_of(child), child.rows, &symbolic.row_in_parent[child.first_row], w, panel, update);
      }
      if (!(node.is_small() ? eliminate_small(context, panel, update, L21) : eliminate_large(context, panel, update)))
        return false;
      for (int k = 0; k < w; ++k) log_det += 2.0 * std::log(panel(k, k));
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

// X <- L^-1 X
void SparseCholesky::forward(MatrixRef X) const {
  Matrix change;
  const bool few = X.cols() <= most_by_column;
  for (const Supernode& node : symbolic_->supernodes) {
    const int w = node.columns, r = node.rows;
    const ConstMap panel(panels_.data() + node.panel, w, w + r);
    const int* rows = symbolic_->rows.data() + node.first_row;
    auto own = X.middleRows(node.first, w);
    if (own.isZero(0.0)) continue;
    if (few) {
      for (Index j = 0; j < X.cols(); ++j) {
        double* x = X.col(j).data();
        auto top = own.col(j);
        for (int k = 0; k < w; ++k) {
          top[k] /= panel(k, k);
          top.tail(w - k - 1) -= top[k] * panel.col(k).segment(k + 1, w - k - 1);
        }
        for (int i = 0; i < r; ++i) x[rows[i]] -= panel.col(w + i).dot(top);
      }
      continue;
    }
    panel.leftCols(w).triangularView<Eigen::Lower>().solveInPlace(own);
    change.noalias() = panel.rightCols(r).transpose() * own;
    for (Index j = 0; j < X.cols(); ++j) {
      for (int i = 0; i < r; ++i) X(rows[i], j) -= change(i, j);
    }
  }
}

// X <- L^-T X
void SparseCholesky::backward(MatrixRef X) const {
  Matrix below;
  const bool few = X.cols() <= most_by_column;
  for (int s = symbolic_->count() - 1; s >= 0; --s) {
    const Supernode& node = symbolic_->supernodes[s];
    const int w = node.columns, r = node.rows;
    const ConstMap panel(panels_.data() + node.panel, w, w + r);
    const int* rows = symbolic_->rows.data() + node.first_row;
    auto own = X.middleRows(node.first, w);
    if (few) {
      for (Index j = 0; j < X.cols(); ++j) {
        const double* x = X.col(j).data();
        auto top = own.col(j);
        for (int i = 0; i < r; ++i) top -= x[rows[i]] * panel.col(w + i);
        for (int k = w - 1; k >= 0; --k) {
          const auto below_pivot = panel.col(k).segment(k + 1, w - k - 1);
          top[k] = (top[k] - below_pivot.dot(top.tail(w - k - 1))) / panel(k, k);
        }
      }
      continue;
    }
    below.resize(r, X.cols());
    for (Index j = 0; j < X.cols(); ++j) {
      for (int i = 0; i < r; ++i) below(i, j) = X(rows[i], j);
    }
    own.noalias() -= panel.rightCols(r) * below;
    panel.leftCols(w).triangularView<Eigen::Lower>().transpose().solveInPlace(own);
  }
}

// Calls body(columns of B), a few at a time: each panel is read once for all of them, and other threads can
// take the rest.
template <typename Body>
void SparseCholesky::over_columns(Context& context, double passes, MatrixRef B, const Body& body) const {
  constexpr Index block = 16;
  const Index columns = B.cols();
  const double flops = 2.0 * passes * static_cast<double>(panels_.size()) * static_cast<double>(columns);
  parallel_for(context, (columns + block - 1) / block, flops,
               [&](Index k) { body(B.middleCols(k * block, std::min(block, columns - k * block))); });
  context.cost.flops += flops;
}

void SparseCholesky::solve(Context& context, MatrixRef B) const {
  over_columns(context, 2.0, B, [&](MatrixRef part) {
    Matrix X = permuted(part);
    forward(X);
    backward(X);
    permute_back(X, part);
  });
}

void SparseCholesky::solve_lower(Context& context, MatrixRef B) const {
  over_columns(context, 1.0, B, [&](MatrixRef part) {
    part = permuted(part);
    forward(part);
  });
}

void SparseCholesky::solve_lower_transposed(Context& context, MatrixRef B) const {
  over_columns(context, 1.0, B, [&](MatrixRef part) {
    backward(part);
    permute_back(Matrix(part), part);
  });
}

}  // namespace galvi
