#include "numeric/dense.h"
#include "numeric/sparse_cholesky.h"
#include "numeric/sparse_symbolic.h"

// Entries of the inverse where L has entries, from the root down (Takahashi, Fagan and Chen 1973; Rue and Held
// 2005, section 2.3.1), a supernode at a time. With Z = A^-1, J its columns and R the rows below, L' Z = L^-1
// gives, for Y = L21 L11^-1,
//   Z_RJ = -Z_RR Y,   Z_JJ = (L11 L11')^-1 - Y' Z_RJ,
// where Z_RR is part of the parent's front, which has all rows of R: factorisation adds fronts up the tree,
// inversion hands them down.
namespace galvi {
namespace {

using Map = Eigen::Map<Matrix>;
using ConstMap = Eigen::Map<const Matrix>;

}  // namespace

SparseMatrix SparseCholesky::selected_inverse(Context& context) const {
  const SparseSymbolic& symbolic = *symbolic_;
  SparseMatrix result = symbolic.pattern;
  Vector stack(symbolic.inverses);
  Matrix Yt;
  for (int s = symbolic.count() - 1; s >= 0; --s) {
    context.monitor.poll();
    const Supernode& node = symbolic.supernodes[s];
    const int w = node.columns, r = node.rows;
    const ConstMap panel(panels_.data() + node.panel, w, w + r);
    Map front(stack.data() + node.inverse, w + r, w + r);
    auto Z_JJ = front.topLeftCorner(w, w);
    Z_JJ = panel.leftCols(w);
    invert_from_cholesky(context, Z_JJ, w);
    fill_upper(Z_JJ);
    if (r > 0) {
      const Supernode& parent = symbolic.supernodes[node.parent];
      const ConstMap parent_front(stack.data() + parent.inverse, parent.front(), parent.front());
      const int* place = &symbolic.row_in_parent[node.first_row];
      for (int j = 0; j < r; ++j) {
        for (int i = 0; i < r; ++i) front(w + i, w + j) = parent_front(place[i], place[j]);
      }
      Yt = panel.rightCols(r);
      galvi::solve_lower_transposed(context, panel.leftCols(w), Yt);
      multiply(context, false, false, -1.0, Yt, front.bottomRightCorner(r, r), 0.0, front.topRightCorner(w, r));
      multiply(context, false, true, -1.0, front.topRightCorner(w, r), Yt, 1.0, Z_JJ);
      front.bottomLeftCorner(r, w) = front.topRightCorner(w, r).transpose();
    }
    for (Index k = node.first_entry; k < node.first_entry + node.entries; ++k) {
      const FrontEntry& entry = symbolic.entries[k];
      result.valuePtr()[entry.value] = front(entry.row, entry.column);
    }
  }
  return result;
}

}  // namespace galvi
