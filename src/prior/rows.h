// What the terms of a prior see of rows of data: plain values, for fitted rows, new rows or a part of either.
#pragma once

#include <vector>

#include "kernel/gram.h"

namespace galvi {

/// What one term sees of n rows: a kernel its inputs, columns their design, a field which nodes each row
/// touches, factors the unit (as node) and the item. Parts that a term does not read are empty.
struct TermRows {
  KernelRows kernel;
  Matrix W;              // n x q
  Eigen::MatrixXi node;  // n x h, from 0; -1: none
  Matrix weight;         // weight in each node, n x h; n x 1 if the same for all nodes; empty for ones
  Eigen::MatrixXi item;  // n x 1, from 0

  /// Calls f(name, part) for every part. Only here and in map() are the parts listed, by their names in R.
  template <class Rows, class F>
  static void for_parts(Rows& rows, const F& f) {
    f("inputs", rows.kernel.inputs);
    f("by", rows.kernel.by);
    f("group", rows.kernel.group);
    f("W", rows.W);
    f("node", rows.node);
    f("weight", rows.weight);
    f("item", rows.item);
  }
  /// The rows whose parts are f(part).
  template <class F>
  TermRows map(const F& f) const {
    return {{f(kernel.inputs), f(kernel.by), f(kernel.group)}, f(W), f(node), f(weight), f(item)};
  }
  Index size() const;  // n
  /// The weight of row n in its h-th node.
  double node_weight(Index n, Index h) const {
    return weight.cols() == 0 ? 1.0 : weight(n, weight.cols() > 1 ? h : 0);
  }
};

/// What all terms of a prior see of the same n rows, in the order of the terms.
struct DesignRows {
  std::vector<TermRows> terms;

  Index size() const;  // n
  /// Rows begin, begin + 1, .., begin + count - 1.
  DesignRows slice(Index begin, Index count) const;
  const TermRows& operator[](Index t) const { return terms[t]; }
};

}  // namespace galvi
