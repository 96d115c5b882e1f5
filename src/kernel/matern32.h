// Matern 3/2: variance (1 + t) exp(-t), t = sqrt(3) r, r the scaled distance.
#pragma once

#include "kernel/matern.h"

namespace galvi {

class Matern32 final : public Matern {
 public:
  explicit Matern32(const KernelSpec& spec) : Matern(spec, 2) {}
  static KernelFacts facts() { return facts_of(2); }

 protected:
  void correlate(ArrayRef s) const override {
    Eigen::ArrayXd decay = (3 * s).sqrt();
    s = 1 + decay;
    exp_minus(decay);
    s *= decay;
  }
  // dt/ds = 3 / (2 t) and d[(1 + t) exp(-t)]/dt = -t exp(-t), so -3/2 exp(-t).
  void slope(const ConstArrayRef& s, const ConstArrayRef& c, ArrayRef out) const override {
    out = -1.5 * c / (1 + (3 * s).sqrt());
  }
};

}  // namespace galvi
