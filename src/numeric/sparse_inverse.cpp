#include "numeric/dense.h"
#include "numeric/sparse_cholesky.h"
#include "numeric/sparse_symbolic.h"

// Entries of the inverse where L has entries, from the root down (Takahashi, Fagan and Chen 1973; Rue and
// Held 2005), a supernode at a time. With Z = A^-1, J its columns and R the rows below, L' Z = L^-1 gives,
// for Y = L21 L11^-1,
//   Z_RJ = -Z_RR Y,   Z_JJ = (L11 L11')^-1 - Y' Z_RJ,
// where Z_RR is part of the parent's front, which has all rows of R: factorisation adds fronts up the tree,
// inversion hands them down.
namespace galvi {
namespace {

using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

// Column after column, from the last.
void invert_small(Context& context, const ConstMap& panel, Map front, Vector& scratch) {
  const Index w = panel.rows(), m = panel.cols(), r = m - w;
  for (Index c = w - 1; c >= 0; --c) {
    const Index n = m - c - 1;
    const double pivot = panel(c, c);
    scratch.resize(n);
    scratch.head(n - r) = panel.col(c).tail(n - r) / -pivot;
    scratch.tail(r) = panel.row(c).tail(r).transpose() / -pivot;
    auto Z_Rc = front.col(c).tail(n);
    Z_Rc.noalias() = front.bottomRightCorner(n, n) * scratch;
    front(c, c) = 1.0 / (pivot * pivot) + scratch.dot(Z_Rc);
    for (Index i = c + 1; i < m; ++i) front(c, i) = front(i, c);
    context.cost.flops += 2.0 * static_cast<double>(n * n);
  }
}

void invert_large(Context& context, const ConstMap& panel, Map front) {
  const Index w = panel.rows(), r = panel.cols() - w;
  auto Z_JJ = front.topLeftCorner(w, w), Z_JR = front.topRightCorner(w, r);
  Z_JJ = panel.leftCols(w);
  invert_from_cholesky(context, Z_JJ, w);
  fill_upper(Z_JJ);
  Matrix Yt = panel.rightCols(r);
  solve_lower_transposed(context, panel.leftCols(w), Yt);
  multiply(context, false, false, -1.0, Yt, front.bottomRightCorner(r, r), 0.0, Z_JR);
  multiply(context, false, true, -1.0, Z_JR, Yt, 1.0, Z_JJ);
  front.bottomLeftCorner(r, w) = Z_JR.transpose();
}

// Z at the rows below a child, whose places in the parent's front these are.
void take_rows(const ConstMap& parent_front, const int* place, Eigen::Ref<Matrix> out) {
  for (Index j = 0; j < out.cols(); ++j)
    for (Index i = 0; i < out.rows(); ++i) out(i, j) = parent_front(place[i], place[j]);
}

}  // namespace

SparseMatrix SparseCholesky::selected_inverse(Context& context) const {
  const SparseSymbolic& symbolic = *symbolic_;
  SparseMatrix result = symbolic.pattern;
  Vector handed(symbolic.handed);
  invert(context, symbolic.trunk, handed, result);
  over_branches(context, 4 * size().work,
                [&](Context& own, Index k) { invert(own, symbolic.branches[k], handed, result); });
  return result;
}

void SparseCholesky::invert(Context& context, const Branch& branch, Vector& handed, SparseMatrix& result) const {
  const SparseSymbolic& symbolic = *symbolic_;
  Vector stack(branch.stacks.inverses), scratch;
  for (auto stretch = branch.stretches.rbegin(); stretch != branch.stretches.rend(); ++stretch)
    for (int s = stretch->second - 1; s >= stretch->first; --s) {
      context.monitor.poll();
      const Supernode& node = symbolic.supernodes[s];
      const int w = node.columns, r = node.rows;
      const ConstMap panel(panels_.data() + node.panel, w, w + r);
      Map front(stack.data() + node.inverse, w + r, w + r);
      if (node.handed) {
        front.bottomRightCorner(r, r) = ConstMap(handed.data() + node.update, r, r);
      } else if (r > 0) {
        const Supernode& parent = symbolic.supernodes[node.parent];
        take_rows(ConstMap(stack.data() + parent.inverse, parent.front(), parent.front()),
                  &symbolic.row_in_parent[node.first_row], front.bottomRightCorner(r, r));
      }
      if (node.is_small()) {
        invert_small(context, panel, front, scratch);
      } else {
        invert_large(context, panel, front);
      }
      for (Index k = node.first_entry; k < node.first_entry + node.entries; ++k) {
        const FrontEntry& entry = symbolic.entries[k];
        result.valuePtr()[entry.value] = front(entry.row, entry.column);
      }
      for (int c = node.last_child; c != -1; c = symbolic.supernodes[c].previous_sibling)
        if (const Supernode& child = symbolic.supernodes[c]; child.handed)
          take_rows(ConstMap(front.data(), w + r, w + r), &symbolic.row_in_parent[child.first_row],
                    Map(handed.data() + child.update, child.rows, child.rows));
    }
}

}  // namespace galvi
