// Functions of one variable of which log densities are made.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

class StandardFunction {
 public:
  virtual ~StandardFunction() = default;
  virtual double value(double x) const = 0;
  /// d^k f / d x^k, k = 0..4.
  virtual void derivatives(double x, double out[5]) const = 0;
  virtual Smoothness smoothness() const = 0;
};

/// f(x) = log 1 / (1 + exp(-x)) = -llp(-x), with llp(x) = log(1 + exp(x)). Lives as long as the program.
const StandardFunction& log_sigmoid();
/// f(x) = log Phi(x).
const StandardFunction& log_phi();

}  // namespace galvi
