// A likelihood whose one positive parameter has a linear predictor of its own.
#pragma once

#include <memory>
#include <utility>

#include "likelihood/distributional.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// Base, of eta_1, whose parameter is exp(sign eta_2): it is made of a specification that does not name it and
/// told its value by set().
template <class Base, int sign = 1>
class LogParameter : public PredictedParameter {
 public:
  explicit LogParameter(const LikelihoodSpec& spec) : prototype_(spec, PositiveParameter()) {}
  explicit LogParameter(Base prototype) : prototype_(std::move(prototype)) {}
  std::unique_ptr<Likelihood> given(double last) const override {
    auto out = std::make_unique<Base>(prototype_);
    out->set(positive_exp(sign * last));
    return out;
  }
  bool log_concave() const override { return false; }
  bool divides_dispersion() const override { return prototype_.divides_dispersion(); }

 protected:
  Base prototype_;
};

}  // namespace galvi
