// How rows are divided, so that sums do not depend on who computes them: threads, chunks or workers.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// How many rows of so many columns a computation processes at a time: what fits a cache.
inline Index rows_in_cache(Index columns) {
  return std::clamp<Index>(65536 / std::max<Index>(columns, 1), 64, 4096);
}

/// All rows in 2^k parts of consecutive rows, determined by the number of rows alone.
class Partition {
 public:
  Partition() = default;
  /// 64 parts or more; fewer where a part would have fewer rows than its sums have columns.
  Partition(Index rows, Index columns) : rows_(rows) {
    constexpr Index usual = 64, least_rows = 64, most_rows = 16384;
    while (parts_ < usual && rows / (2 * parts_) >= std::max(least_rows, columns)) parts_ *= 2;
    while (rows / parts_ > most_rows) parts_ *= 2;
  }
  Index rows() const { return rows_; }
  Index parts() const { return parts_; }
  /// The first row of a part; for the part after the last, the number of rows.
  Index begin(Index part) const { return part * rows_ / parts_; }

 private:
  Index rows_ = 0, parts_ = 1;
};

/// Adds the parts of a partition, given in order, along a fixed binary tree: neighbours first. The sum of all
/// parts is the same to the last bit whoever added which of its subtrees. T: has operator+=.
template <class T>
class TreeSum {
 public:
  /// The sum of 2^level parts, which `place` parts precede.
  struct Node {
    int level;
    Index place;
    T sum;
  };

  void add(Node node) {
    while (!roots_.empty() && roots_.back().level == node.level && node.place % 2 == 1 &&
           roots_.back().place + 1 == node.place) {
      roots_.back().sum += node.sum;
      node = {node.level + 1, node.place / 2, std::move(roots_.back().sum)};
      roots_.pop_back();
    }
    roots_.push_back(std::move(node));
  }
  void add(Index part, T sum) { add(Node{0, part, std::move(sum)}); }
  /// The largest complete subtrees.
  const std::vector<Node>& roots() const { return roots_; }
  T total() && {
    T out{};
    for (Node& root : roots_) out += root.sum;
    return out;
  }

 private:
  std::vector<Node> roots_;
};

}  // namespace galvi
