// A positive hyperparameter of a likelihood.
#pragma once

#include <stdexcept>

#include "likelihood/likelihood.h"

namespace galvi {

/// Knows its row in the table of hyperparameters, and checks what it reads there.
class PositiveParameter {
 public:
  /// Not in the table: the likelihood is given its value.
  PositiveParameter() = default;
  PositiveParameter(const LikelihoodSpec& spec, const char* name) : label_(spec.type + ": `" + name + "`") {
    const auto entry = spec.hyper.find(name);
    if (entry == spec.hyper.end() || entry->second.size() != 1)
      throw std::invalid_argument(label_ + " must be named once among the hyperparameters");
    position_ = entry->second[0];
  }
  double read(const ConstVectorRef& hyper) const {
    if (position_ < 0 || position_ >= hyper.size())
      throw std::invalid_argument(label_ + " points outside the table of hyperparameters");
    const double value = hyper[position_];
    if (!(value > 0.0 && value < infinity)) throw std::domain_error(label_ + " must be > 0 and finite");
    return value;
  }
  Index position() const { return position_; }
  bool in_table() const { return position_ >= 0; }

 private:
  std::string label_;
  Index position_ = -1;
};

}  // namespace galvi
