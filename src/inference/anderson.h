// Anderson acceleration of a fixed-point map x -> G(x), limited memory.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

class Anderson {
 public:
  explicit Anderson(Index memory) : memory_(memory) {}

  /// From x and G(x), the next point to try: G(x) - sum_i gamma_i (G(x_i+1) - G(x_i)), where gamma makes the
  /// residual G(x) - x, combined in the same way, smallest.
  Vector next(const Vector& x, const Vector& image) {
    const Vector residual = image - x;
    if (last_image_.size() > 0) {
      if (static_cast<Index>(d_image_.size()) == memory_) {
        d_image_.erase(d_image_.begin());
        d_residual_.erase(d_residual_.begin());
      }
      d_image_.push_back(image - last_image_);
      d_residual_.push_back(residual - last_residual_);
    }
    last_image_ = image;
    last_residual_ = residual;
    const Index m = static_cast<Index>(d_image_.size());
    if (m == 0) return image;
    Matrix gram(m, m);
    Vector rhs(m);
    for (Index i = 0; i < m; ++i) {
      rhs[i] = d_residual_[i].dot(residual);
      for (Index j = 0; j <= i; ++j) gram(i, j) = gram(j, i) = d_residual_[i].dot(d_residual_[j]);
    }
    gram.diagonal() *= 1 + 1e-12;  // nearly parallel differences
    const Vector gamma = gram.ldlt().solve(rhs);
    Vector next = image;
    if (gamma.allFinite())
      for (Index i = 0; i < m; ++i) next -= gamma[i] * d_image_[i];
    return next;
  }

  void forget() {
    d_image_.clear();
    d_residual_.clear();
    last_image_.resize(0);
  }

 private:
  Index memory_;
  std::vector<Vector> d_image_, d_residual_;
  Vector last_image_, last_residual_;
};

}  // namespace galvi
