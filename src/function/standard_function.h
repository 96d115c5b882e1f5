// Functions of one variable of which log densities are made.
#pragma once

#include <optional>

#include "function/smoothness.h"

namespace galvi {

/// exp(f) is a distribution function.
class StandardFunction {
 public:
  virtual ~StandardFunction() = default;
  virtual double value(double x) const = 0;
  /// d^k f / d x^k, k = 0..4.
  virtual void derivatives(double x, double out[5]) const = 0;
  virtual Smoothness smoothness() const = 0;
  /// E f^(k)(x), k = 0..4, under x ~ N(mean, variance) by a series, where the Gaussian is so narrow, so
  /// wide or so far out that a short one is accurate to 1e-11; false elsewhere.
  virtual bool means_by_series(double /*mean*/, double /*variance*/, double /*out*/[5]) const { return false; }
  /// f(x) = x + f(-x)
  virtual bool reflects() const { return false; }
  /// exp(f) is the standard normal's: f(x) = log P(g > 0), g ~ N(x, 1).
  virtual bool of_normal() const { return false; }
  /// f falls to 0 on the right as slowly as 1 / x and is not concave on the left.
  virtual bool heavy_tailed() const { return false; }
  /// The log of its density and that one's first two derivatives.
  virtual void log_density(double x, double out[3]) const = 0;
  /// log E exp(f(x)) under x ~ N(mean, variance) where it has a closed form.
  virtual std::optional<double> log_mean_exp(double /*mean*/, double /*variance*/) const {
    return std::nullopt;
  }
};

// They live as long as the program.

/// f(x) = log 1 / (1 + exp(-x)) = -llp(-x), with llp(x) = log(1 + exp(x)).
const StandardFunction& log_sigmoid();
/// f(x) = log Phi(x).
const StandardFunction& log_phi();
/// f(x) = -exp(-x), of the Gumbel distribution.
const StandardFunction& log_gumbel();
/// f(x) = log(1 - exp(-exp(x))), of minus a Gumbel variable: the inverse of the complementary log-log link.
const StandardFunction& log_cloglog();
/// f(x) = log(1 / 2 + atan(x) / pi).
const StandardFunction& log_cauchy();

}  // namespace galvi
