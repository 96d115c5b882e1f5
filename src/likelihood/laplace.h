// A response with double exponential noise, identity link.
#pragma once

#include "likelihood/double_exponential.h"

namespace galvi {

/// log p(y | eta) = -log(2 scale) - |y - eta| / scale.
class Laplace final : public DoubleExponential {
 public:
  explicit Laplace(const LikelihoodSpec& spec) : Laplace(spec, PositiveParameter(spec, "scale")) {}
  Laplace(const LikelihoodSpec&, PositiveParameter scale) : DoubleExponential(std::move(scale), 1.0, 1.0) {}
  bool super_gaussian() const override { return true; }
};

}  // namespace galvi
