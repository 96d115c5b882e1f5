#include "kernel/integrated_wiener.h"

#include <algorithm>
#include <cmath>

namespace galvi {

namespace {

using Two = Eigen::Matrix2d;

/// k at unit variance for distances a and b from the origin, with their signs.
double unit_covariance(double a, double b) {
  if (!(a * b > 0)) return 0;
  const double s = std::min(std::abs(a), std::abs(b)), u = std::max(std::abs(a), std::abs(b));
  return s * s * (3 * u - s) / 6;
}

/// dk / db
double unit_slope(double a, double b) {
  if (!(a * b > 0)) return 0;
  const double x = std::abs(a), y = std::abs(b);
  return std::copysign(y < x ? y * (2 * x - y) / 2 : x * x / 2, b);
}

/// P at unit variance.
Two unit_state(double a) {
  const double u = std::abs(a);
  Two P;
  P << u * u * u / 3, a * u / 2, a * u / 2, u;
  return P;
}

struct WienerStep {
  Two A = Two::Zero(), Q;

  /// a: where the step begins, from the origin
  WienerStep(double a, double gap) {
    if (a >= 0) {
      A << 1, gap, 0, 1;
      Q << gap * gap * gap / 3, gap * gap / 2, gap * gap / 2, gap;
      return;
    }
    const double whole = -a, left = whole - gap;
    if (left <= 0) {  // over the origin
      Q = unit_state(-left);
      return;
    }
    // Fractions of the way, done and left.
    const double d = gap / whole, r = left / whole;
    A << r * r * (1 + 2 * d), r * r * gap, -6 * r * d / whole, r * (r - 2 * d);
    const double slopes = r * gap * (d * d - r * d + r * r), both = r * r * gap * gap * (r - d) / 2;
    Q << r * r * r * gap * gap * gap / 3, both, both, slopes;
  }
};

}  // namespace

IntegratedWiener::IntegratedWiener(const KernelSpec& spec) : column_(0), variance_at_(position(spec, "variance")) {
  const auto origin = spec.constants.find("origin");
  if (spec.columns.size() != 1 || origin == spec.constants.end() || !std::isfinite(origin->second))
    throw std::invalid_argument("kernel 'integrated_wiener' acts on one column, from a finite origin");
  column_ = spec.columns[0];
  origin_ = origin->second;
}

KernelFacts IntegratedWiener::facts() {
  // the range of the variance is that of the cube of a number of bends
  KernelFacts facts{{{"variance", KernelParameter::Role::variance, 1e-9, 1e15}}};
  facts.one_input = true;
  facts.states = 2;
  facts.origin = true;
  return facts;
}

void IntegratedWiener::value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const {
  for (Index j = 0; j < Z.rows(); ++j) {
    const double b = Z(j, column_) - origin_;
    for (Index i = 0; i < X.rows(); ++i) out(i, j) = variance_ * unit_covariance(X(i, column_) - origin_, b);
  }
}

void IntegratedWiener::diagonal(const ConstMatrixRef& X, VectorRef out) const {
  out = variance_ / 3 * (X.col(column_).array() - origin_).abs().cube().matrix();
}

void IntegratedWiener::gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G,
                                VectorRef hyper, Matrix* inputs) const {
  for (Index j = 0; j < Z.rows(); ++j) {
    const double b = Z(j, column_) - origin_;
    for (Index i = 0; i < X.rows(); ++i) {
      const double a = X(i, column_) - origin_;
      hyper[variance_at_] += G(i, j) * unit_covariance(a, b);
      if (inputs != nullptr) (*inputs)(j, column_) += G(i, j) * variance_ * unit_slope(a, b);
    }
  }
}

void IntegratedWiener::diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const {
  hyper[variance_at_] += g.dot((X.col(column_).array() - origin_).abs().cube().matrix()) / 3;
}

void IntegratedWiener::covariance(double at, MatrixRef P) const { P = variance_ * unit_state(at - origin_); }

void IntegratedWiener::step(double at, double gap, MatrixRef A, MatrixRef Q) const {
  const WienerStep unit(at - origin_, gap);
  A = unit.A;
  Q = variance_ * unit.Q;
}

void IntegratedWiener::add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const {
  hyper[variance_at_] += G.cwiseProduct(unit_state(at - origin_)).sum();
}

// A does not depend on the variance.
void IntegratedWiener::add_step_gradient(double at, double gap, const ConstMatrixRef&, const ConstMatrixRef& G_Q,
                                         VectorRef hyper) const {
  hyper[variance_at_] += G_Q.cwiseProduct(WienerStep(at - origin_, gap).Q).sum();
}

}  // namespace galvi
