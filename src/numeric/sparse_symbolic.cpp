#include "numeric/sparse_symbolic.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace galvi {
namespace {

void check(const SparseMatrix& lower) {
  const auto refuse = [](const std::string& found) {
    throw std::invalid_argument(
        "a sparse factorisation needs the lower triangle of a square matrix, compressed, rows ascending, "
        "with "
        "all of the diagonal, not " +
        found);
  };
  if (lower.rows() == 0 || lower.cols() != lower.rows()) {
    refuse("one of size " + std::to_string(lower.rows()) + " x " + std::to_string(lower.cols()));
  }
  if (!lower.isCompressed()) refuse("one with room for more entries");
  for (int j = 0; j < lower.cols(); ++j) {
    const int from = lower.outerIndexPtr()[j], to = lower.outerIndexPtr()[j + 1];
    const int* rows = lower.innerIndexPtr();
    if (from == to || rows[from] != j)
      refuse("one whose column " + std::to_string(j) + " does not start there");
    for (int k = from + 1; k < to; ++k) {
      if (rows[k] <= rows[k - 1]) refuse("one whose column " + std::to_string(j) + " is not sorted");
    }
  }
}

// The whole matrix, each entry holding its position among those of the lower triangle.
SparseMatrix numbered(SparseMatrix lower) {
  for (int k = 0; k < lower.nonZeros(); ++k) lower.valuePtr()[k] = k;
  return lower.selfadjointView<Eigen::Lower>();
}

Index square(int n) { return static_cast<Index>(n) * n; }

}  // namespace

SparseSymbolic::SparseSymbolic(const SparseMatrix& lower) : pattern(lower) {
  check(lower);
  const SparseMatrix full = numbered(lower);
  Elimination elimination = elimination_order(full);
  order = std::move(elimination.order);
  int first = 0;
  for (const int columns : elimination.supernodes) {
    Supernode node;
    node.first = first;
    node.columns = columns;
    supernodes.push_back(node);
    first += columns;
  }
  fill_fronts(full);
  lay_out();
}

// The rows below a supernode are those of its columns in A and those below its children, without its own
// columns (Liu 1990).
void SparseSymbolic::fill_fronts(const SparseMatrix& full) {
  const int n = static_cast<int>(order.size());
  std::vector<int> turn(n), supernode_of(n), met_from(n, -1), place(n);
  for (int k = 0; k < n; ++k) turn[order[k]] = k;
  for (int s = 0; s < count(); ++s) {
    std::fill_n(supernode_of.begin() + supernodes[s].first, supernodes[s].columns, s);
  }
  for (int s = 0; s < count(); ++s) {
    Supernode& node = supernodes[s];
    const int end = node.first + node.columns;
    const auto for_children_rows = [&](const auto& body) {
      for (int c = node.last_child; c != -1; c = supernodes[c].previous_sibling) {
        for (Index k = supernodes[c].first_row; k < supernodes[c].first_row + supernodes[c].rows; ++k)
          body(k);
      }
    };

    node.first_row = static_cast<Index>(rows.size());
    const auto meet = [&](int i) {
      if (i < end || met_from[i] == s) return;
      met_from[i] = s;
      rows.push_back(i);
    };
    for (int k = node.first; k < end; ++k) {
      for (SparseMatrix::InnerIterator entry(full, order[k]); entry; ++entry) meet(turn[entry.row()]);
    }
    for_children_rows([&](Index k) { meet(rows[k]); });
    std::sort(rows.begin() + node.first_row, rows.end());
    node.rows = static_cast<int>(rows.size() - node.first_row);
    row_in_parent.resize(rows.size());

    for (int k = 0; k < node.columns; ++k) place[node.first + k] = k;
    for (int k = 0; k < node.rows; ++k) place[rows[node.first_row + k]] = node.columns + k;
    for_children_rows([&](Index k) { row_in_parent[k] = place[rows[k]]; });
    node.first_entry = static_cast<Index>(entries.size());
    for (int k = node.first; k < end; ++k) {
      for (SparseMatrix::InnerIterator entry(full, order[k]); entry; ++entry) {
        const int i = turn[entry.row()];
        if (i >= k) entries.push_back({static_cast<int>(entry.value()), place[i], place[k]});
      }
    }
    node.entries = static_cast<int>(entries.size() - node.first_entry);

    if (node.rows == 0) continue;
    node.parent = supernode_of[rows[node.first_row]];
    node.previous_sibling = supernodes[node.parent].last_child;
    supernodes[node.parent].last_child = s;
  }
}

// Children are finished right before their parent: update matrices could live on one stack, if the parent's
// could be put where the children's still are. Two stacks, for even and odd levels, avoid copies. The fronts
// of the inverse are met parents first: each lies behind its parent's, over those of finished subtrees.
void SparseSymbolic::lay_out() {
  for (int s = count() - 1; s >= 0; --s) {
    Supernode& node = supernodes[s];
    if (node.parent != -1) {
      const Supernode& parent = supernodes[node.parent];
      node.level = parent.level + 1;
      node.inverse = parent.inverse + square(parent.front());
    }
    inverses = std::max(inverses, node.inverse + square(node.front()));
  }
  Index top[2] = {0, 0};
  for (Supernode& node : supernodes) {
    node.panel = panels;
    panels += static_cast<Index>(node.columns) * node.front();
    for (int c = node.last_child; c != -1; c = supernodes[c].previous_sibling) {
      top[(node.level + 1) % 2] -= square(supernodes[c].rows);
    }
    Index& own = top[node.level % 2];
    node.update = own;
    own += square(node.rows);
    updates[node.level % 2] = std::max(updates[node.level % 2], own);
  }
}

}  // namespace galvi
