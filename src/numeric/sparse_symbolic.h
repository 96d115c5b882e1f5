// The part of a sparse factorisation that depends on the pattern alone.
#pragma once

#include <utility>
#include <vector>

#include "numeric/sparse_ordering.h"

namespace galvi {

/// w columns of L that are eliminated together as they have (nearly) the same r rows below them. Its *front*
/// is the dense matrix of these w + r indices. Its *panel* is its part of L, as [L11, L21'] by columns
/// (w x (w + r), rubbish above L11's diagonal): with L21 transposed every product is one of dense.h.
struct Supernode {
  int first = 0;  // column, in the order of elimination
  int columns = 0;
  int rows = 0;
  int parent = -1;      // the supernode of its first row below, or -1
  int last_child = -1;  // or -1; the others follow by previous_sibling
  int previous_sibling = -1;
  int level = 0;          // of a root: 0
  Index first_row = 0;    // in `rows` and `row_in_parent`
  Index first_entry = 0;  // in `entries`
  int entries = 0;        // of A in its columns
  Index panel = 0;        // where it starts
  Index update = 0;       // where its update matrix (r x r) starts on the stack of its level's parity
  Index inverse = 0;      // where its front of the inverse starts on the stack
  bool handed = false;    // the root of a branch: its update matrix, and its part of the inverse, start at `update` in
                          // what branches hand over

  int front() const { return columns + rows; }
  /// Loops are faster than calls of the backend.
  bool is_small() const { return columns <= 16 && front() <= 64; }
};

/// values[value] of A belongs to (row, column) of a front, column < w and row >= column.
struct FrontEntry {
  int value, row, column;
};

/// The stacks of some supernodes: sizes of those of updates, for levels of each parity, and of that of inverses.
struct Stacks {
  Index updates[2] = {0, 0};
  Index inverses = 0;
};

/// Subtrees that one thread takes, one after the other. Which these are depends on the pattern alone.
struct Branch {
  std::vector<std::pair<int, int>> stretches;  // of supernodes
  Stacks stacks;
};

struct SparseSymbolic {
  /// Throws std::invalid_argument where SparseCholesky's constructor does.
  explicit SparseSymbolic(const SparseMatrix& lower);

  SparseMatrix pattern;               // what was given
  std::vector<int> order;             // the k-th index to be eliminated
  std::vector<Supernode> supernodes;  // children before parents, a subtree in one stretch
  std::vector<int> rows;              // below each supernode, ascending, in the order of elimination
  std::vector<int> row_in_parent;     // where each of these is in the parent's front
  std::vector<FrontEntry> entries;    // of A, supernode after supernode
  std::vector<Branch> branches;       // none where the matrix is small
  Branch trunk;                       // what is left
  Index panels = 0;                   // the size of all panels
  Index handed = 0;                   // and of what branches hand over

  /// Multiply-adds: column k of a front has k fewer rows than the first.
  double work(const Supernode& node) const;

  int count() const { return static_cast<int>(supernodes.size()); }

 private:
  void fill_fronts(const SparseMatrix& full);
  void find_branches();
  void lay_out();
  void lay_out(Branch& branch);
};

}  // namespace galvi
