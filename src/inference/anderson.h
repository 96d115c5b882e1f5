// Anderson acceleration of a fixed-point map x -> G(x), limited memory.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

class Anderson {
 public:
  explicit Anderson(std::size_t memory) : memory_(memory) {}

  /// The next point to try, from x, G(x) - x and the current step size: x + step (G(x) - x) less a
  /// combination of differences of earlier points, sum_i gamma_i (dx_i + step dr_i), where gamma minimises
  /// the residual r = G(x) - x combined in the same way. `scale`: the unit of each entry of x. Points may be
  /// reached in any way: only their differences matter.
  Vector next(const Vector& x, const Vector& residual, const Vector& scale, double step) {
    if (memory_ > 0 && x_.size() > 0) {
      if (dx_.size() == memory_) {
        dx_.erase(dx_.begin());
        dr_.erase(dr_.begin());
      }
      dx_.push_back(x - x_);
      dr_.push_back(residual - residual_);
    }
    x_ = x;
    residual_ = residual;
    Vector next = x + step * residual;
    const Index m = static_cast<Index>(dx_.size());
    if (m == 0) return next;
    Matrix gram(m, m);
    Vector along(m);
    for (Index i = 0; i < m; ++i) {
      const Vector scaled = dr_[i].cwiseQuotient(scale).cwiseQuotient(scale);
      for (Index j = 0; j <= i; ++j) gram(i, j) = gram(j, i) = scaled.dot(dr_[j]);
      along[i] = scaled.dot(residual);
    }
    gram.diagonal() *= 1 + 1e-12;  // nearly parallel differences
    const Vector gamma = gram.ldlt().solve(along);
    if (gamma.allFinite())
      for (Index i = 0; i < m; ++i) next -= gamma[i] * (dx_[i] + step * dr_[i]);
    return next;
  }

 private:
  std::size_t memory_;
  std::vector<Vector> dx_, dr_;
  Vector x_, residual_;
};

}  // namespace galvi
