// The mean of a standard function under a Gaussian: the part of which composed expectations are sums.
#pragma once

#include <string>

#include "function/standard_function.h"

namespace galvi {

class FunctionMean {
 public:
  virtual ~FunctionMean() = default;
  /// The name of the expectation that is composed of it.
  virtual std::string name() const = 0;
  /// The function whose mean it is.
  virtual const StandardFunction& function() const = 0;
  /// E f(sign x) under x ~ N(mean, variance), or its bound, sign = 1 or -1, and the derivatives in mean and
  /// variance; second derivatives for order = 2 only. Called from threads.
  virtual void evaluate(double sign, double mean, double variance, int order,
                        PointExpectation& out) const = 0;
  /// -E f(sign x) is a term linear in the mean plus a convex function of t = mean + variance / 2, and
  /// argument_at(lambda) is the t at which -2 d_v = lambda, 0 < lambda < 1.
  virtual bool has_conjugate() const { return false; }
  virtual double argument_at(double /*lambda*/) const { return 0.0; }
  virtual bool exact() const { return false; }
  /// Concave in (mean, square root of the variance) and falling in the variance, hence one optimum in
  /// (m, chol V).
  virtual bool concave() const { return true; }
};

}  // namespace galvi
