// Matern 5/2: variance (1 + t + t^2 / 3) exp(-t), t = sqrt(5) r, r the scaled distance.
#pragma once

#include "kernel/matern.h"

namespace galvi {

class Matern52 final : public Matern {
 public:
  explicit Matern52(const KernelSpec& spec) : Matern(spec, 3) {}
  static KernelFacts facts() { return facts_of(3); }

 protected:
  void correlate(ArrayRef s) const override {
    Eigen::ArrayXd decay = (5 * s).sqrt();
    s = 1 + decay + (5.0 / 3) * s;
    exp_minus(decay);
    s *= decay;
  }
  // dt/ds = 5 / (2 t) and d[(1 + t + t^2/3) exp(-t)]/dt = -t (1 + t) exp(-t) / 3, so -5/6 (1 + t) exp(-t).
  void slope(const ConstArrayRef& s, const ConstArrayRef& c, ArrayRef out) const override {
    out = (5 * s).sqrt();
    out = (-5.0 / 6) * c * (1 + out) / (1 + out + (5.0 / 3) * s);
  }
};

}  // namespace galvi
