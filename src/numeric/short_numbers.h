// Numbers that a function needs for one row.
#pragma once

#include <array>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// A list of numbers as std::vector<double>, but without an allocation where they are few: one made anew for every row
/// would otherwise take a fifth of the time of a row's quadrature.
class ShortNumbers {
 public:
  explicit ShortNumbers(std::size_t size = 0) { resize(size); }
  ShortNumbers(const ShortNumbers&) = delete;
  ShortNumbers& operator=(const ShortNumbers&) = delete;

  /// The numbers are not kept.
  void resize(std::size_t size) {
    size_ = size;
    if (size > few) many_.resize(size);
    at_ = size > few ? many_.data() : few_.data();
  }
  std::size_t size() const { return size_; }
  Eigen::Map<Vector> vector() { return {at_, static_cast<Index>(size_)}; }
  double& operator[](std::size_t i) { return at_[i]; }
  const double& operator[](std::size_t i) const { return at_[i]; }
  const double* begin() const { return at_; }
  const double* end() const { return at_ + size_; }

 private:
  static constexpr std::size_t few = 16;
  std::array<double, few> few_;  // written before they are read, as in a vector of Eigen
  std::vector<double> many_;
  std::size_t size_;
  double* at_;
};

}  // namespace galvi
