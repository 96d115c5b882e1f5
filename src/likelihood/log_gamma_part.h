// Functions of the logarithm of a positive number that differ from a line by what gamma functions bend.
#pragma once

#include <cmath>

#include "function/normal.h"
#include "likelihood/counts.h"
#include "numeric/special_functions.h"

namespace galvi {

/// h(x), a = exp(x): weight times log Gamma(count + a) / Gamma(a), or weight times what Stirling's formula
/// leaves of log Gamma(a). The singularities nearest to the real line are at a distance of pi.
class LogGammaPart {
 public:
  /// Left of it h is a line, to rounding.
  static constexpr double line_end = -37.0;

  LogGammaPart() = default;
  static LogGammaPart rising(double weight, double count) {
    return count > 0.0 ? LogGammaPart(weight, count, weight, weight * log_factorial(count - 1.0)) : LogGammaPart();
  }
  static LogGammaPart stirling(double weight) {
    return LogGammaPart(weight, 0.0, -0.5 * weight, -weight * log_sqrt_2pi);
  }

  double operator()(double x) const {
    return count_ > 0.0 ? weight_ * log_rising(count_, x) : weight_ * stirling_error(std::exp(x), x);
  }
  bool empty() const { return weight_ == 0.0; }
  double slope() const { return slope_; }  // of the line
  double intercept() const { return intercept_; }

 private:
  LogGammaPart(double weight, double count, double slope, double intercept)
      : weight_(weight), count_(count), slope_(slope), intercept_(intercept) {}
  double weight_ = 0.0, count_ = 0.0, slope_ = 0.0, intercept_ = 0.0;
};

}  // namespace galvi
