#include "hyper/site_path.h"

#include <algorithm>

#include <Eigen/Cholesky>

namespace galvi {

void SitePath::add(const Vector& x, const Start& found, bool best) {
  const Sites* sites = std::get_if<Sites>(&found);
  if (!sites || (sites->lambda.array() <= 0).any()) return;
  constexpr std::size_t most = 4;  // two numbers a row each
  points_.insert(points_.begin() + (best || points_.empty() ? 0 : 1), {x, *sites});
  if (points_.size() > most) points_.pop_back();
}

// x - x_0 is fitted by sum_i w_i (x_i - x_0), with a small penalty on w: moves may be along one line.
Start SitePath::start_at(const Vector& x, const Start& fallback) const {
  constexpr double farthest = 3;  // in moves that were made before
  if (points_.size() < 2) return fallback;
  const Index count = static_cast<Index>(points_.size()) - 1;
  const Vector move = x - points_[0].x;
  Matrix moves(x.size(), count);
  for (Index i = 0; i < count; ++i) moves.col(i) = points_[i + 1].x - points_[0].x;
  const double longest = moves.colwise().norm().maxCoeff();
  if (!(move.norm() <= farthest * longest)) return fallback;
  Matrix system = moves.transpose() * moves;
  system.diagonal().array() += 1e-4 * move.squaredNorm() + 1e-12 * longest * longest;
  const Vector w = system.llt().solve(moves.transpose() * move);
  if (!w.allFinite()) return fallback;
  const Sites& base = points_[0].sites;
  Sites out = base;
  for (Index i = 0; i < count; ++i) {
    out.lambda += w[i] * (points_[i + 1].sites.lambda - base.lambda);
    out.b += w[i] * (points_[i + 1].sites.b - base.b);
  }
  out.lambda = out.lambda.cwiseMax(0.5 * base.lambda).cwiseMin(2 * base.lambda);
  return out;
}

}  // namespace galvi
