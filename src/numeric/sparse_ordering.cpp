#include "numeric/sparse_ordering.h"

#include <Eigen/OrderingMethods>
#include <numeric>

namespace galvi {
namespace {

using Integers = std::vector<int>;

// The graph of A, its nodes numbered in the order of elimination.
class OrderedGraph {
 public:
  OrderedGraph(const SparseMatrix& full, const Integers& order)
      : full_(full), order_(order), turn_(order.size()) {
    for (int k = 0; k < size(); ++k) turn_[order[k]] = k;
  }

  int size() const { return static_cast<int>(order_.size()); }

  template <typename Body>
  void for_neighbours(int k, const Body& body) const {
    for (SparseMatrix::InnerIterator entry(full_, order_[k]); entry; ++entry) body(turn_[entry.row()]);
  }

 private:
  const SparseMatrix& full_;
  const Integers& order_;
  Integers turn_;
};

Integers minimum_degree_order(const SparseMatrix& full) {
  Eigen::AMDOrdering<int>::PermutationType permutation;
  Eigen::AMDOrdering<int>()(full.selfadjointView<Eigen::Lower>(), permutation);
  const auto& indices = permutation.indices();
  return Integers(indices.data(), indices.data() + indices.size());
}

// Each column's parent: the first row below its diagonal in L, or -1. Paths are cut short as they are walked,
// which makes this nearly linear (Liu 1990).
Integers elimination_tree(const OrderedGraph& graph) {
  const int n = graph.size();
  Integers parent(n, -1), ancestor(n, -1);
  for (int k = 0; k < n; ++k) {
    graph.for_neighbours(k, [&](int i) {
      while (i != -1 && i < k) {
        const int next = ancestor[i];
        ancestor[i] = k;
        if (next == -1) parent[i] = k;
        i = next;
      }
    });
  }
  return parent;
}

// Entries of each column of L, the diagonal's included. Row k of L is the part of the tree between k and its
// neighbours in A (Davis 2006), so that each entry of L is met once.
Integers column_counts(const OrderedGraph& graph, const Integers& parent) {
  const int n = graph.size();
  Integers count(n, 1), met_from(n, -1);
  for (int k = 0; k < n; ++k) {
    met_from[k] = k;
    graph.for_neighbours(k, [&](int i) {
      for (; i < k && met_from[i] != k; i = parent[i]) {
        met_from[i] = k;
        ++count[i];
      }
    });
  }
  return count;
}

// What a front with w columns and r rows below costs, in multiply-adds: its elimination, copies of its update
// matrix (which take as long as a few columns) and a call.
double cost_of_front(double w, double r) { return 100.0 + (w + 8.0) * (w + r) * (w + r); }

// For each column the last column of its supernode.
Integers last_columns(const Integers& parent, const Integers& count) {
  const int n = static_cast<int>(parent.size());
  Integers last(n), columns(n, 1);
  std::iota(last.begin(), last.end(), 0);
  const auto join = [&](int j, int target) {
    last[j] = target;
    columns[target] += columns[j];
  };
  const auto settle = [&] {
    for (int j = n - 1; j >= 0; --j) last[j] = last[last[j]];
  };
  // A column whose rows below are its parent and the parent's rows joins it without a stored zero.
  for (int j = 0; j < n; ++j) {
    const int p = parent[j];
    if (p != -1 && columns[p] == 1 && count[j] == count[p] + 1) join(j, p);
  }
  settle();
  // Then zeros are stored wherever one front is cheaper than two.
  for (int j = 0; j < n; ++j) {
    if (last[j] != j || parent[j] == -1) continue;
    const int p = last[parent[j]], r = count[j] - 1, r_p = count[p] - 1;
    const double together = cost_of_front(columns[j] + columns[p], r_p);
    if (together <= cost_of_front(columns[j], r) + cost_of_front(columns[p], r_p)) join(j, p);
  }
  settle();
  return last;
}

// The last columns of the supernodes, children before parents and a subtree in one stretch.
Integers postorder(const Integers& parent, const Integers& last) {
  const int n = static_cast<int>(parent.size());
  Integers child(n, -1), sibling(n, -1), path, result;
  for (int j = 0; j < n; ++j) {
    if (last[j] != j) continue;
    if (parent[j] == -1) {
      path.push_back(j);
    } else {
      const int p = last[parent[j]];
      sibling[j] = child[p];
      child[p] = j;
    }
  }
  // Children go on top of their parent, which is finished when it is on top again.
  while (!path.empty()) {
    const int j = path.back();
    if (child[j] == -1) {
      result.push_back(j);
      path.pop_back();
      continue;
    }
    for (int c = child[j]; c != -1; c = sibling[c]) path.push_back(c);
    child[j] = -1;
  }
  return result;
}

}  // namespace

Elimination elimination_order(const SparseMatrix& full) {
  const Integers first_order = minimum_degree_order(full);
  const OrderedGraph graph(full, first_order);
  const Integers parent = elimination_tree(graph), last = last_columns(parent, column_counts(graph, parent));
  const Integers sequence = postorder(parent, last);

  // The order that brings each supernode's columns together has the same L but for its rows and columns.
  const int n = graph.size();
  Elimination result{Integers(n), Integers(sequence.size(), 0)};
  Integers place(n), next(n);
  for (std::size_t s = 0; s < sequence.size(); ++s) place[sequence[s]] = static_cast<int>(s);
  for (int j = 0; j < n; ++j) ++result.supernodes[place[last[j]]];
  int first = 0;
  for (std::size_t s = 0; s < sequence.size(); ++s) {
    next[sequence[s]] = first;
    first += result.supernodes[s];
  }
  for (int j = 0; j < n; ++j) result.order[next[last[j]]++] = first_order[j];
  return result;
}

}  // namespace galvi
