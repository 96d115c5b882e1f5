// The two-loop recursion of L-BFGS, for searches with their own steps and initial curvature.
#pragma once

#include <deque>
#include <vector>

#include "numeric/krylov.h"

namespace galvi {

class LbfgsMemory {
 public:
  explicit LbfgsMemory(std::size_t pairs) : pairs_(pairs) {}

  /// A step and the change of the gradient along it.
  void add(const Vector& step, const Vector& change) {
    const double product = step.dot(change);
    if (pairs_ == 0 || !(product > 1e-14 * step.norm() * change.norm())) return;
    if (memory_.size() == pairs_) memory_.pop_front();
    memory_.push_back({step, change, 1.0 / product});
  }
  void clear() { memory_.clear(); }

  /// Inverse Hessian times x; `first` applies the inverse Hessian without memory.
  Vector apply(Vector x, const LinearMap& first) const {
    std::vector<double> along(memory_.size());
    for (std::size_t i = memory_.size(); i-- > 0;) {
      along[i] = memory_[i].scale * memory_[i].step.dot(x);
      x -= along[i] * memory_[i].change;
    }
    x = first(x);
    for (std::size_t i = 0; i < memory_.size(); ++i)
      x += (along[i] - memory_[i].scale * memory_[i].change.dot(x)) * memory_[i].step;
    return x;
  }
  /// The scale that the last pair suggests for `first`.
  double scale() const {
    return memory_.empty() ? 1.0 : 1.0 / (memory_.back().scale * memory_.back().change.squaredNorm());
  }
  bool empty() const { return memory_.empty(); }

 private:
  struct Pair {
    Vector step, change;
    double scale;  // 1 / step' change
  };
  std::size_t pairs_;
  std::deque<Pair> memory_;
};

}  // namespace galvi
