// The distribution of a function of Gaussian variables that is monotone in the first of them.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// A mixture of functions of a standard normal variable z. Each is monotone, known at the same points,
/// equidistant and symmetric about zero, and linear between them; beyond them nothing follows. The
/// distribution of a function that is constant, or finite at one point at most, is a step.
class MonotoneMixture {
 public:
  explicit MonotoneMixture(Vector z) : z_(std::move(z)) {}
  /// V: values at z, a column for each function, of which a column has this share of the whole.   points x
  /// functions
  void add(const Matrix& V, const Vector& shares);
  /// P(value <= x)
  double below(double x) const;
  /// Infinite where the values of finite ones do not reach so far.
  double quantile(double probability) const;

 private:
  struct Function {
    Vector values;      // increasing
    Index first, last;  // finite ones
    double share;
    bool step;
  };
  double below(const Function& f, double x) const;

  Vector z_;
  std::vector<Function> functions_;
  double least_ = 0, largest_ = 0;  // of the finite values, and zero
};

}  // namespace galvi
