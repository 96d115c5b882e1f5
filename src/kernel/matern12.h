// Matern 1/2: variance exp(-r), r the scaled distance.
#pragma once

#include "kernel/matern.h"

namespace galvi {

class Matern12 final : public Matern {
 public:
  explicit Matern12(const KernelSpec& spec) : Matern(spec, 1) {}
  static KernelFacts facts() { return facts_of(1); }

 protected:
  void correlate(ArrayRef s) const override {
    s = s.sqrt();
    exp_minus(s);
  }
  // -exp(-r) / (2 r), written -exp(-r) r / (2 s); at the kink r = 0 it is taken as 0, between the two sides.
  void slope(const ConstArrayRef& s, const ConstArrayRef& c, ArrayRef out) const override {
    constexpr double tiny = 1e-300;
    out = -0.5 * c * s.sqrt() / (s + tiny);
  }
};

}  // namespace galvi
