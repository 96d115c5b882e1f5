// Long sums to the last digits.
#pragma once

#include <cmath>

namespace galvi {

/// A sum that carries its rounding errors along (Neumaier 1974). Where many equal numbers are added one after the other, as
/// the constants of rows are, errors of the plain sum have the same sign and grow as the square of their number.
class AccurateSum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    error_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  double value() const { return std::isfinite(sum_) ? sum_ + error_ : sum_; }

 private:
  double sum_ = 0, error_ = 0;
};

}  // namespace galvi
