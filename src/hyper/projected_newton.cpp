#include "hyper/projected_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Eigenvalues>

namespace galvi {

namespace {

struct Point {
  Vector x;
  double value;
  Vector gradient;
};

class NewtonSearch {
 public:
  NewtonSearch(const Objective& objective, const Vector& start, const Vector& lower, const Vector& upper)
      : result{start, std::numeric_limits<double>::infinity(), 0, false},
        objective_(objective),
        lower_(lower),
        upper_(upper) {}

  Point at(const Vector& x) {
    Point out{x.cwiseMax(lower_).cwiseMin(upper_), 0, Vector(x.size())};
    out.value = objective_(out.x, out.gradient);
    ++result.evaluations;
    if (out.value < result.value) {
      result.x = out.x;
      result.value = out.value;
    }
    return out;
  }

  /// The variables that a descent step may change: all except those that it would move across a bound.
  std::vector<Index> free(const Point& p) const {
    constexpr double near = 1e-6;
    std::vector<Index> out;
    for (Index i = 0; i < p.x.size(); ++i) {
      const bool held = p.gradient[i] > 0 ? p.x[i] <= lower_[i] + near : p.x[i] >= upper_[i] - near;
      if (!held) out.push_back(i);
    }
    return out;
  }

  /// By forward differences, or backward ones if the forward point is beyond a bound or has no value.
  Matrix hessian(const Point& p, const std::vector<Index>& free) {
    constexpr double difference = 5e-3;
    const Index F = static_cast<Index>(free.size());
    Matrix H = Matrix::Identity(F, F);
    for (Index j = 0; j < F; ++j)
      for (const double h : {difference, -difference}) {
        Vector x = p.x;
        x[free[j]] += h;
        if (x[free[j]] > upper_[free[j]] || x[free[j]] < lower_[free[j]]) continue;
        const Point aside = at(x);
        if (!std::isfinite(aside.value)) continue;
        for (Index i = 0; i < F; ++i) H(i, j) = (aside.gradient[free[i]] - p.gradient[free[i]]) / h;
        break;
      }
    return 0.5 * (H + H.transpose());
  }

  Vector step(const Point& p, const std::vector<Index>& free, double longest) {
    constexpr double flattest = 1e-8;
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(hessian(p, free));
    const Vector size = eigen.eigenvalues().cwiseAbs();
    const Vector curvature = size.cwiseMax(flattest * std::max(1.0, size.maxCoeff()));
    Vector g(free.size());
    for (std::size_t i = 0; i < free.size(); ++i) g[i] = p.gradient[free[i]];
    const Vector newton =
        -(eigen.eigenvectors() * (eigen.eigenvectors().transpose() * g).cwiseQuotient(curvature));
    Vector out = Vector::Zero(p.x.size());
    for (std::size_t i = 0; i < free.size(); ++i) out[free[i]] = newton[i];
    return out * std::min(1.0, longest / out.cwiseAbs().maxCoeff());
  }

  LbfgsResult result;  // the best point seen

 private:
  const Objective& objective_;
  const Vector &lower_, &upper_;
};

}  // namespace

LbfgsResult minimise_by_newton(const Objective& objective, const Vector& start, const Vector& lower,
                               const Vector& upper, const LbfgsControl& control) {
  constexpr double enough = 1e-4, least_step = 1e-6;
  NewtonSearch search(objective, start, lower, upper);
  Point p = search.at(start);
  for (int i = 0; i < control.max_iterations && std::isfinite(p.value); ++i) {
    const Vector downhill = (p.x - p.gradient).cwiseMax(lower).cwiseMin(upper) - p.x;
    search.result.converged = downhill.cwiseAbs().maxCoeff() <= control.gradient_tolerance;
    if (search.result.converged) break;
    const Vector step = search.step(p, search.free(p), control.max_step);
    bool moved = false;
    for (double length = 1; length > least_step && !moved; length *= 0.5) {
      Point next = search.at(p.x + length * step);
      moved = next.value < p.value && next.value <= p.value + enough * p.gradient.dot(next.x - p.x);
      if (moved) p = std::move(next);
    }
    if (!moved) break;
  }
  return search.result;
}

}  // namespace galvi
