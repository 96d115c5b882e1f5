// Step rules of stochastic gradient ascent, which adapt to the size of each coordinate's gradient.
#pragma once

#include <cmath>

#include "numeric/types.h"

namespace galvi {

/// Kingma and Ba (2015): ascent along x.
class Adam {
 public:
  void step(const Vector& gradient, const Vector& size, VectorRef x) {
    constexpr double keep = 0.9, keep_square = 0.999, small = 1e-8;
    if (mean_.size() == 0) mean_ = square_ = Vector::Zero(x.size());
    ++count_;
    mean_ = keep * mean_ + (1 - keep) * gradient;
    square_ = keep_square * square_ + (1 - keep_square) * gradient.cwiseAbs2();
    const double of_mean = 1 - std::pow(keep, count_), of_square = 1 - std::pow(keep_square, count_);
    x.array() += size.array() * (mean_.array() / of_mean) / ((square_.array() / of_square).sqrt() + small);
  }

 private:
  Vector mean_, square_;
  int count_ = 0;
};

/// Zeiler (2012).
class Adadelta {
 public:
  void step(const Vector& gradient, double size, VectorRef x) {
    constexpr double keep = 0.9, small = 1e-4;
    if (square_.size() == 0) square_ = moved_ = Vector::Zero(x.size());
    square_ = keep * square_ + (1 - keep) * gradient.cwiseAbs2();
    const Vector move =
        ((moved_.array() + small).sqrt() / (square_.array() + small).sqrt() * gradient.array()).matrix();
    moved_ = keep * moved_ + (1 - keep) * move.cwiseAbs2();
    x += size * move;
  }

 private:
  Vector square_, moved_;
};

}  // namespace galvi
