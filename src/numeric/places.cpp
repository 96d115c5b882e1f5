#include "numeric/places.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index leaf_places = 8;

/// The place that is farthest from those already taken: of equally far ones that with the smallest index.
struct Farthest {
  double distance = -1;  // squared
  Index place = -1;
  bool operator<(const Farthest& other) const {
    return distance < other.distance || (distance == other.distance && place > other.place);
  }
};

}  // namespace

PlaceTree::PlaceTree(const ConstMatrixRef& places) : places_(places.transpose()), members_(places.rows()) {
  std::iota(members_.begin(), members_.end(), Index{0});
  if (members_.empty()) return;
  boxes_.push_back({0, places.rows(), -1, 0, {}, {}});
  for (std::size_t box = 0; box < boxes_.size(); ++box) split(box);
}

// Halves the places of a box along its widest side.
void PlaceTree::split(std::size_t at) {
  Box& box = boxes_[at];
  box.low = box.high = places_.col(members_[box.begin]);
  box.first = members_[box.begin];
  for (Index k = box.begin + 1; k < box.end; ++k) {
    box.low = box.low.cwiseMin(places_.col(members_[k]));
    box.high = box.high.cwiseMax(places_.col(members_[k]));
    box.first = std::min(box.first, members_[k]);
  }
  if (box.end - box.begin <= leaf_places) return;
  Index side;
  (box.high - box.low).maxCoeff(&side);
  const Index begin = box.begin, end = box.end, middle = begin + (end - begin) / 2;
  std::nth_element(members_.begin() + begin, members_.begin() + middle, members_.begin() + end, [&](Index a, Index b) {
    return std::pair(places_(side, a), a) < std::pair(places_(side, b), b);
  });
  box.child = static_cast<Index>(boxes_.size());
  boxes_.push_back({begin, middle, -1, 0, {}, {}});
  boxes_.push_back({middle, end, -1, 0, {}, {}});
}

double PlaceTree::squared_distance(const Box& box, const ConstVectorRef& x) const {
  double sum = 0;
  for (Index d = 0; d < x.size(); ++d) {
    const double beyond = std::max({box.low[d] - x[d], x[d] - box.high[d], 0.0});
    sum += beyond * beyond;
  }
  return sum;
}

// Every box knows which of its places is farthest from those taken. A new place changes only boxes that are nearer to
// it than that distance, which are few once there are many.
std::vector<Index> PlaceTree::maxmin_order(Context& context) const {
  const Index n = places_.cols();
  std::vector<Index> order;
  if (n == 0) return order;
  Vector distance = Vector::Constant(n, infinity);
  std::vector<Farthest> farthest(boxes_.size(), {infinity, 0});
  const std::function<void(Index, Index)> take = [&](Index at, Index place) {
    const Box& box = boxes_[at];
    if (squared_distance(box, places_.col(place)) > farthest[at].distance) return;
    if (box.child >= 0) {
      take(box.child, place);
      take(box.child + 1, place);
      farthest[at] = std::max(farthest[box.child], farthest[box.child + 1]);
      return;
    }
    farthest[at] = {};
    for (Index k = box.begin; k < box.end; ++k) {
      const Index own = members_[k];
      distance[own] = std::min(distance[own], squared_distance(own, places_.col(place)));
      farthest[at] = std::max(farthest[at], Farthest{distance[own], own});
    }
  };
  const Vector mean = places_.rowwise().mean();
  Index next = 0;
  for (Index i = 1; i < n; ++i)
    if (squared_distance(i, mean) < squared_distance(next, mean)) next = i;
  for (; static_cast<Index>(order.size()) < n; next = farthest[0].place) {
    if (order.size() % 4096 == 0) context.monitor.poll();
    order.push_back(next);
    distance[next] = -1;  // never again
    take(0, next);
  }
  return order;
}

std::vector<Index> PlaceTree::nearest(const ConstVectorRef& x, Index count, Index limit) const {
  std::vector<std::pair<double, Index>> found;  // a heap with the farthest first
  const std::function<void(Index, double)> visit = [&](Index at, double distance) {
    const Box& box = boxes_[at];
    const bool enough = static_cast<Index>(found.size()) == count;
    if (box.first >= limit || (enough && distance > found.front().first)) return;
    if (box.child >= 0) {
      const double left = squared_distance(boxes_[box.child], x), right = squared_distance(boxes_[box.child + 1], x);
      const Index nearer = right < left ? 1 : 0;
      visit(box.child + nearer, std::min(left, right));
      visit(box.child + 1 - nearer, std::max(left, right));
      return;
    }
    for (Index k = box.begin; k < box.end; ++k) {
      if (members_[k] >= limit) continue;
      const std::pair own(squared_distance(members_[k], x), members_[k]);
      if (static_cast<Index>(found.size()) == count) {
        if (!(own < found.front())) continue;
        std::pop_heap(found.begin(), found.end());
        found.pop_back();
      }
      found.push_back(own);
      std::push_heap(found.begin(), found.end());
    }
  };
  if (count > 0 && !boxes_.empty()) visit(0, 0.0);
  std::vector<Index> out;
  for (const auto& [distance, place] : found) out.push_back(place);
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

Eigen::MatrixXi nearest_of_all(Context& context, const PlaceTree& tree, const ConstMatrixRef& x, Index count,
                               const std::function<Index(Index)>& limit) {
  constexpr Index block = 512;
  constexpr double search_work = 2e4;  // flops, roughly
  Eigen::MatrixXi out = Eigen::MatrixXi::Constant(x.rows(), count, -1);
  parallel_for(context, (x.rows() + block - 1) / block, search_work * static_cast<double>(x.rows()), [&](Index b) {
    for (Index i = b * block; i < std::min(x.rows(), (b + 1) * block); ++i) {
      Index k = 0;
      for (const Index place : tree.nearest(x.row(i).transpose(), count, limit(i)))
        out(i, k++) = static_cast<int>(place);
    }
  });
  return out;
}

}  // namespace

Eigen::MatrixXi nearest_before(Context& context, const ConstMatrixRef& places, Index count) {
  return nearest_of_all(context, PlaceTree(places), places, count, [](Index i) { return i; });
}

Eigen::MatrixXi nearest_places(Context& context, const ConstMatrixRef& places, const ConstMatrixRef& x, Index count) {
  return nearest_of_all(context, PlaceTree(places), x, count, [&](Index) { return places.rows(); });
}

}  // namespace galvi
