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
  find_branches();
  lay_out();
}

double SparseSymbolic::work(const Supernode& node) const {
  double out = 0;
  for (int k = 0; k < node.columns; ++k) {
    const double rows = node.front() - k;
    out += 0.5 * rows * rows;
  }
  return out;
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

// The largest subtrees with a share of the work each, small ones together. Above them is the trunk, whose fronts are large
// enough for threads of their own.
void SparseSymbolic::find_branches() {
  constexpr double worth_it = 2e7;  // multiply-adds
  constexpr double shares = 32;
  std::vector<double> below(count());
  std::vector<int> first(count());  // of the subtree
  double all = 0;
  for (int s = 0; s < count(); ++s) {
    first[s] = s;
    below[s] = work(supernodes[s]);
    all += below[s];
    for (int c = supernodes[s].last_child; c != -1; c = supernodes[c].previous_sibling) {
      below[s] += below[c];
      first[s] = std::min(first[s], first[c]);
    }
  }
  if (all < worth_it) {
    if (count() > 0) trunk.stretches.emplace_back(0, count());
    return;
  }
  const double share = all / shares;
  double own = share;  // of the last branch
  int trunk_from = 0;  // the first supernode that is in no branch yet
  for (int s = 0; s < count(); ++s) {
    const int parent = supernodes[s].parent;
    if (below[s] > share || (parent != -1 && below[parent] <= share)) continue;
    if (own + below[s] > share) {
      branches.emplace_back();
      own = 0;
    }
    own += below[s];
    branches.back().stretches.emplace_back(first[s], s + 1);
    supernodes[s].handed = parent != -1;
    if (first[s] > trunk_from) trunk.stretches.emplace_back(trunk_from, first[s]);
    trunk_from = s + 1;
  }
  if (trunk_from < count()) trunk.stretches.emplace_back(trunk_from, count());
}

void SparseSymbolic::lay_out() {
  for (int s = count() - 1; s >= 0; --s)
    if (supernodes[s].parent != -1) supernodes[s].level = supernodes[supernodes[s].parent].level + 1;
  for (Supernode& node : supernodes) {
    node.panel = panels;
    panels += static_cast<Index>(node.columns) * node.front();
    if (!node.handed) continue;
    node.update = handed;
    handed += square(node.rows);
  }
  for (Branch& branch : branches) lay_out(branch);
  lay_out(trunk);
}

// Children are finished right before their parent: update matrices could live on one stack, if the parent's
// could be put where the children's still are. Two stacks, for even and odd levels, avoid copies. The fronts
// of the inverse are met parents first: each lies behind its parent's, over those of finished subtrees.
void SparseSymbolic::lay_out(Branch& branch) {
  Stacks& stacks = branch.stacks;
  for (auto stretch = branch.stretches.rbegin(); stretch != branch.stretches.rend(); ++stretch)
    for (int s = stretch->second - 1; s >= stretch->first; --s) {
      Supernode& node = supernodes[s];
      if (node.parent != -1 && !node.handed) {
        const Supernode& parent = supernodes[node.parent];
        node.inverse = parent.inverse + square(parent.front());
      }
      stacks.inverses = std::max(stacks.inverses, node.inverse + square(node.front()));
    }
  Index top[2] = {0, 0};
  for (const auto& [begin, end] : branch.stretches)
    for (int s = begin; s < end; ++s) {
      Supernode& node = supernodes[s];
      for (int c = node.last_child; c != -1; c = supernodes[c].previous_sibling)
        if (!supernodes[c].handed) top[(node.level + 1) % 2] -= square(supernodes[c].rows);
      if (node.handed) continue;
      Index& own = top[node.level % 2];
      node.update = own;
      own += square(node.rows);
      stacks.updates[node.level % 2] = std::max(stacks.updates[node.level % 2], own);
    }
}

}  // namespace galvi
