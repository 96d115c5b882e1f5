// A hyperparameter of a likelihood that is one number.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "likelihood/likelihood.h"

namespace galvi {

/// Any number. Knows its row in the table of hyperparameters, and checks what it reads there.
class RealParameter {
 public:
  /// Not in the table: the likelihood is given its value.
  RealParameter() = default;
  RealParameter(const LikelihoodSpec& spec, const char* name) : label_(spec.type + ": `" + name + "`") {
    const auto entry = spec.hyper.find(name);
    if (entry == spec.hyper.end() || entry->second.size() != 1)
      throw std::invalid_argument(label_ + " must be named once among the hyperparameters");
    position_ = entry->second[0];
  }
  double read(const ConstVectorRef& hyper) const {
    const double value = at(hyper);
    if (!std::isfinite(value)) throw std::domain_error(label_ + " must be finite");
    return value;
  }
  Index position() const { return position_; }
  bool in_table() const { return position_ >= 0; }

 protected:
  double at(const ConstVectorRef& hyper) const {
    if (position_ < 0 || position_ >= hyper.size())
      throw std::invalid_argument(label_ + " points outside the table of hyperparameters");
    return hyper[position_];
  }
  const std::string& label() const { return label_; }

 private:
  std::string label_;
  Index position_ = -1;
};

}  // namespace galvi
