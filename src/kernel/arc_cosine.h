// Arc-cosine: the covariance of a wide neural network with one hidden layer of steps or ramps (Cho and Saul 2009).
#pragma once

#include "kernel/spec.h"

namespace galvi {

/// With x~ = (sqrt(constant), x), a = |x~|^2, b = |z~|^2, c = x~'z~ and theta the angle between x~ and z~,
///   order 0 (steps):  k = variance / pi (pi - theta),
///   order 1 (ramps):  k = variance / pi (s + (pi - theta) c),   s = |x~| |z~| sin(theta) = sqrt(a b - c^2).
/// theta = 2 atan2(|u - w|, |u + w|) for the unit vectors u and w keeps its digits where rows are close. Where s = 0
/// order 0 has a kink, with gradient zero.
class ArcCosine final : public Kernel {
 public:
  explicit ArcCosine(const KernelSpec& spec)
      : columns_(spec.columns), variance_at_(position(spec, "variance")), constant_at_(position(spec, "constant")) {
    const auto order = spec.constants.find("order");
    if (order == spec.constants.end() || (order->second != 0 && order->second != 1))
      throw std::invalid_argument("kernel 'arc_cosine' needs the order 0 or 1");
    ramps_ = order->second == 1;
  }
  static KernelFacts facts() {
    return {{KernelParameter::variance(), KernelParameter::shape("constant", 1e-6, 1e6)}, {"order"}};
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
    constant_ = positive(hyper, constant_at_, "constant");
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    const Rows x(X, *this), z(Z, *this);
    for (Index j = 0; j < Z.rows(); ++j)
      for (Index i = 0; i < X.rows(); ++i) out(i, j) = variance_ * unit_value(Pair(x, i, z, j));
  }

  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    if (!ramps_) {
      out.setConstant(variance_);
      return;
    }
    const Rows x(X, *this);
    out = variance_ * x.norm.array().square().matrix();
  }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Rows x(X, *this), z(Z, *this);
    const Index own = z.unit.cols() - 1;  // the first column of the unit vectors is the constant's
    double by_variance = 0, by_constant = 0;
    for (Index j = 0; j < Z.rows(); ++j) {
      for (Index i = 0; i < X.rows(); ++i) {
        const Pair p(x, i, z, j);
        by_variance += G(i, j) * unit_value(p);
        const Slopes d = slopes(p);
        const double g = variance_ * G(i, j);
        by_constant += g * d.constant;
        if (inputs == nullptr) continue;
        // dk/dz = dk/dc x + 2 dk/db z, by unit vectors
        for (Index m = 0; m < own; ++m)
          (*inputs)(j, columns_[static_cast<size_t>(m)]) += g * (d.x * x.unit(i, m + 1) + d.z * z.unit(j, m + 1));
      }
    }
    hyper[variance_at_] += by_variance;
    hyper[constant_at_] += by_constant;
  }

  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    if (!ramps_) {
      hyper[variance_at_] += g.sum();
      return;
    }
    const Rows x(X, *this);
    hyper[variance_at_] += g.dot(x.norm.array().square().matrix());
    hyper[constant_at_] += variance_ * g.sum();
  }

 private:
  static constexpr double pi = 3.141592653589793238462643383279502884;

  /// x~ of each row as its length and its direction.   norm: a, unit: a x (columns + 1)
  struct Rows {
    Rows(const ConstMatrixRef& X, const ArcCosine& kernel) : unit(X.rows(), 1 + kernel.columns_.size()) {
      unit.col(0).setConstant(std::sqrt(kernel.constant_));
      unit.rightCols(unit.cols() - 1) = select_columns(X, kernel.columns_);
      norm = unit.rowwise().stableNorm();
      unit.array().colwise() /= norm.array();
    }
    Vector norm;
    Matrix unit;
  };

  struct Pair {
    Pair(const Rows& x, Index i, const Rows& z, Index j) : x(x.norm[i]), z(z.norm[j]) {
      double apart = 0, along = 0;  // |u - w|^2, |u + w|^2
      for (Index m = 0; m < x.unit.cols(); ++m) {
        const double difference = x.unit(i, m) - z.unit(j, m), sum = x.unit(i, m) + z.unit(j, m);
        apart += difference * difference;
        along += sum * sum;
      }
      theta = 2 * std::atan2(std::sqrt(apart), std::sqrt(along));
      cosine = std::cos(theta);
      sine = std::sin(theta);
    }
    double x, z;  // lengths
    double theta, cosine, sine;
  };

  double unit_value(const Pair& p) const {
    return ramps_ ? p.x * p.z * (p.sine + (pi - p.theta) * p.cosine) / pi : (pi - p.theta) / pi;
  }

  /// Derivatives of k / variance: in the constant, which is a part of a, b and c; and in z what multiplies the unit
  /// vectors of x and z.
  struct Slopes {
    double constant, x, z;
  };
  // order 1: dk/dc = (pi - theta) / pi,  dk/da = s / (2 a pi);  order 0: dk/dc = 1 / (pi s),  dk/da = -c / (2 a s pi)
  Slopes slopes(const Pair& p) const {
    const double ratio = p.x / p.z;
    if (ramps_) {
      const double turn = (pi - p.theta) / pi;
      return {turn + 0.5 * p.sine * (ratio + 1 / ratio) / pi, turn * p.x, p.sine * p.x / pi};
    }
    if (p.sine == 0) return {0, 0, 0};
    // 1 - cosine (a + b) / (2 |x~| |z~|), without cancellation
    const double half = std::sin(0.5 * p.theta), lengths = p.x - p.z;
    const double left = 2 * half * half - 0.5 * p.cosine * (lengths / p.x) * (lengths / p.z);
    return {left / (pi * p.sine * p.x * p.z), 1 / (pi * p.sine * p.z), -p.cosine / (pi * p.sine * p.z)};
  }

  std::vector<Index> columns_;
  Index variance_at_, constant_at_;
  bool ramps_;
  double variance_ = 1, constant_ = 1;
};

}  // namespace galvi
