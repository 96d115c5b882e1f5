#include "kernel/matern.h"

#include <algorithm>
#include <cmath>

namespace galvi {

namespace {

/// int_0^t s^n exp(-2 s) ds, accurate relative to itself for all t: a sum of positive terms.
double decaying_moment(int n, double t) {
  const double x = 2 * t;
  double whole = 0.5;  // n! / 2^(n+1)
  for (int k = 1; k <= n; ++k) whole *= 0.5 * k;
  double term = 1, sum = 0;
  if (x < n + 3) {  // exp(-x) sum_{k > n} x^k / k!
    constexpr int most = 200;
    for (int k = 1; k <= n + 1; ++k) term *= x / k;
    for (int k = n + 2; k < most; ++k) {
      sum += term;
      if (term <= sum * 1e-18) break;
      term *= x / k;
    }
    return whole * std::exp(-x) * sum;
  }
  for (int k = 0; k <= n; ++k) {
    sum += term;
    term *= x / (k + 1);
  }
  return whole * (1 - std::exp(-x) * sum);
}

/// P at unit variance.
Eigen::Matrix3d unit_stationary(Index d) {
  Eigen::Matrix3d P = Eigen::Matrix3d::Identity();
  if (d == 3) P << 1, 0, -1.0 / 3, 0, 1.0 / 3, 0, -1.0 / 3, 0, 1;
  return P;
}

/// A, Q at unit variance, and g with dQ/dt = density g g'; the first d rows and columns.
struct UnitStep {
  Eigen::Matrix3d A = Eigen::Matrix3d::Zero(), Q = Eigen::Matrix3d::Zero();
  Eigen::Vector3d g = Eigen::Vector3d::Zero();
  double density = 2;

  UnitStep(Index d, double t) {
    const double e = std::exp(-t);
    if (d == 1) {
      A(0, 0) = e;
      Q(0, 0) = -std::expm1(-2 * t);
      g[0] = e;
    } else if (d == 2) {
      A.topLeftCorner<2, 2>() << 1 + t, t, -t, 1 - t;
      const double first = 4 * decaying_moment(2, t), cross = 2 * t * t * e * e;
      Q.topLeftCorner<2, 2>() << first, cross, cross, first + 4 * t * e * e;
      density = 4;
      g << t, 1 - t, 0;
      A *= e;
      g *= e;
    } else {
      A << 1 + t + t * t / 2, t + t * t, t * t / 2, -t * t / 2, 1 + t - t * t, t - t * t / 2, -t + t * t / 2,
          -3 * t + t * t, 1 - 2 * t + t * t / 2;
      A *= e;
      density = 16.0 / 3;
      g << t * t / 2, t - t * t / 2, 1 - 2 * t + t * t / 2;
      g *= e;
      if (t < 2) {
        double J[5];
        for (int n = 0; n < 5; ++n) J[n] = decaying_moment(n, t);
        const double q11 = J[4] / 4, q12 = J[3] / 2 - J[4] / 4, q13 = J[2] / 2 - J[3] + J[4] / 4;
        const double q22 = J[2] - J[3] + J[4] / 4, q23 = J[1] - 2.5 * J[2] + 1.5 * J[3] - J[4] / 4;
        const double q33 = J[0] - 4 * J[1] + 5 * J[2] - 2 * J[3] + J[4] / 4;
        Q << q11, q12, q13, q12, q22, q23, q13, q23, q33;
        Q *= density;
      } else {
        const Eigen::Matrix3d P = unit_stationary(d);
        Q = P - A * P * A.transpose();
      }
    }
  }
};

/// dA/dt = F A.
Eigen::Matrix3d drift(Index d) {
  Eigen::Matrix3d F = Eigen::Matrix3d::Zero();
  if (d == 1) F(0, 0) = -1;
  if (d == 2) F.topLeftCorner<2, 2>() << 0, 1, -1, -2;
  if (d == 3) F << 0, 1, 0, 0, 0, 1, -1, -3, -3;
  return F;
}

}  // namespace

// Beyond, nothing is left of the state before.
double Matern::scaled(double gap) const {
  constexpr double forgotten = 1e3;
  return std::min(std::sqrt(2.0 * static_cast<double>(dimension_) - 1) * gap / lengthscale_[0], forgotten);
}

void Matern::covariance(double, MatrixRef P) const {
  P = variance_ * unit_stationary(dimension_).topLeftCorner(dimension_, dimension_);
}

void Matern::step(double, double gap, MatrixRef A, MatrixRef Q) const {
  const UnitStep unit(dimension_, scaled(gap));
  A = unit.A.topLeftCorner(dimension_, dimension_);
  Q = variance_ * unit.Q.topLeftCorner(dimension_, dimension_);
}

void Matern::add_covariance_gradient(double, const ConstMatrixRef& G, VectorRef hyper) const {
  hyper[variance_at_] +=
      G.cwiseProduct(unit_stationary(dimension_).topLeftCorner(dimension_, dimension_)).sum();
}

void Matern::add_step_gradient(double, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                               VectorRef hyper) const {
  const double t = scaled(gap);
  const UnitStep unit(dimension_, t);
  const Index d = dimension_;
  const Eigen::Matrix3d dA = drift(d) * unit.A;
  const auto g = unit.g.head(d);
  const double by_t = G_A.cwiseProduct(dA.topLeftCorner(d, d)).sum() + variance_ * unit.density * g.dot(G_Q * g);
  hyper[variance_at_] += G_Q.cwiseProduct(unit.Q.topLeftCorner(d, d)).sum();
  hyper[lengthscale_at_[0]] -= t / lengthscale_[0] * by_t;
}

}  // namespace galvi
