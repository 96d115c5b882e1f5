// Places in space: an order from coarse to fine, and nearest neighbours, by a k-d tree. Ties are broken by index, so
// that both depend on nothing but the places.
#pragma once

#include <utility>
#include <vector>

#include "numeric/context.h"

namespace galvi {

/// A tree of boxes over places (n x p). The leaves hold a few places each.
class PlaceTree {
 public:
  explicit PlaceTree(const ConstMatrixRef& places);

  /// The places in maxmin order: first the one nearest to the mean of all, then always the one that is farthest from
  /// all places before it. Takes of the order of n log n.
  std::vector<Index> maxmin_order(Context& context) const;
  /// The `count` places nearest to x among the first `limit`, ascending; fewer if there are no more.
  std::vector<Index> nearest(const ConstVectorRef& x, Index count, Index limit) const;

 private:
  struct Box {
    Index begin, end;   // of its places in members_
    Index child;        // the first of two, or -1
    Index first;        // the smallest index of its places
    Vector low, high;   // p
  };
  void split(std::size_t box);
  double squared_distance(const Box& box, const ConstVectorRef& x) const;
  double squared_distance(Index place, const ConstVectorRef& x) const {
    return (places_.col(place) - x).squaredNorm();
  }

  Matrix places_;  // p x n
  std::vector<Index> members_;
  std::vector<Box> boxes_;  // children after their parent
};

/// The nearest places before each one, in the order of the rows: n x count, -1 where there are fewer.
Eigen::MatrixXi nearest_before(Context& context, const ConstMatrixRef& places, Index count);
/// The nearest of the places to each x: rows of x x count, ascending, -1 where there are fewer.
Eigen::MatrixXi nearest_places(Context& context, const ConstMatrixRef& places, const ConstMatrixRef& x, Index count);

}  // namespace galvi
