// Squared exponential: variance exp(-s / 2), s the squared scaled distance.
#pragma once

#include "kernel/stationary.h"

namespace galvi {

class SquaredExponential final : public Stationary {
 public:
  using Stationary::Stationary;

 protected:
  void correlate(ArrayRef s) const override {
    s *= 0.5;
    exp_minus(s);
  }
  void correlate_less_one(ArrayRef s) const override {
    s *= 0.5;
    exp_minus_less_one(s);
  }
  void slope(const ConstArrayRef&, const ConstArrayRef& c, ArrayRef out) const override { out = -0.5 * c; }
};

}  // namespace galvi
