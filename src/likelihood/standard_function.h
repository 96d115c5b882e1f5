// Functions of one variable of which log densities are made.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// exp(f) is the distribution function of a density that is symmetric around 0.
class StandardFunction {
 public:
  virtual ~StandardFunction() = default;
  virtual double value(double x) const = 0;
  /// d^k f / d x^k, k = 0..4.
  virtual void derivatives(double x, double out[5]) const = 0;
  virtual Smoothness smoothness() const = 0;
  /// The log of that density and its first two derivatives.
  virtual void log_density(double x, double out[3]) const = 0;
  /// log E exp(f(x)) under x ~ N(mean, variance) where it has a closed form.
  virtual std::optional<double> log_mean_exp(double /*mean*/, double /*variance*/) const {
    return std::nullopt;
  }
};

/// f(x) = log 1 / (1 + exp(-x)) = -llp(-x), with llp(x) = log(1 + exp(x)). Lives as long as the program.
const StandardFunction& log_sigmoid();
/// f(x) = log Phi(x).
const StandardFunction& log_phi();

}  // namespace galvi
