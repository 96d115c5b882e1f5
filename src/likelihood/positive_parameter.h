// A positive hyperparameter of a likelihood.
#pragma once

#include "likelihood/real_parameter.h"

namespace galvi {

class PositiveParameter : public RealParameter {
 public:
  using RealParameter::RealParameter;
  double read(const ConstVectorRef& hyper) const {
    const double value = at(hyper);
    if (!(value > 0.0 && value < infinity)) throw std::domain_error(label() + " must be > 0 and finite");
    return value;
  }
};

}  // namespace galvi
