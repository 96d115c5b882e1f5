#include "hyper/projected_newton.h"

#include <algorithm>
#include <cmath>
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
      : objective_(objective), lower_(lower), upper_(upper) {
    result.x = start;
  }

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

  /// hessian: of the free variables.
  static Vector step(const Point& p, const std::vector<Index>& free, const Matrix& hessian, double longest) {
    constexpr double flattest = 1e-8;
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(hessian);
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

  bool is_flat(const Point& p, double tolerance) const {
    const Vector downhill = (p.x - p.gradient).cwiseMax(lower_).cwiseMin(upper_) - p.x;
    return downhill.cwiseAbs().maxCoeff() <= tolerance;
  }

  LbfgsResult result;  // the best point seen

 private:
  const Objective& objective_;
  const Vector &lower_, &upper_;
};

constexpr double enough = 1e-4, least_step = 1e-6;

// The BFGS formula, damped so that H stays positive definite (Powell 1978).
void update(Matrix& H, const Vector& step, Vector change) {
  const Vector Hs = H * step;
  const double sHs = step.dot(Hs), sy = step.dot(change);
  if (!(sHs > 0) || !change.allFinite()) return;
  if (sy < 0.2 * sHs) {
    const double share = 0.8 * sHs / (sHs - sy);
    change = share * change + (1 - share) * Hs;
  }
  H += change * change.transpose() / step.dot(change) - Hs * Hs.transpose() / sHs;
}

}  // namespace

LbfgsResult minimise_by_newton(const Objective& objective, const Vector& start, const Vector& lower,
                               const Vector& upper, const LbfgsControl& control) {
  NewtonSearch search(objective, start, lower, upper);
  Point p = search.at(start);
  for (int i = 0; std::isfinite(p.value); ++i) {
    search.result.converged = search.is_flat(p, control.gradient_tolerance);
    search.result.ended_early = !search.result.converged && i >= control.max_iterations;
    if (search.result.converged || search.result.ended_early) break;
    const std::vector<Index> free = search.free(p);
    const Vector step = search.step(p, free, search.hessian(p, free), control.max_step);
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

// Where the value falls by less than its rounding error the gradient decides, as in the approximate Wolfe conditions of
// Hager and Zhang (2005).
LbfgsResult minimise_from_hessian(const Objective& objective, const Vector& start, Matrix hessian, const Vector& lower,
                                  const Vector& upper, const LbfgsControl& control) {
  constexpr double rounding = 1e-11, flatter = 0.9;
  NewtonSearch search(objective, start, lower, upper);
  Point p = search.at(start);
  for (int i = 0; i < control.max_iterations && std::isfinite(p.value); ++i) {
    search.result.converged = search.is_flat(p, control.gradient_tolerance);
    if (search.result.converged) {
      search.result.x = p.x;
      search.result.value = p.value;
      break;
    }
    const std::vector<Index> free = search.free(p);
    Matrix own(free.size(), free.size());
    for (std::size_t a = 0; a < free.size(); ++a)
      for (std::size_t b = 0; b < free.size(); ++b) own(a, b) = hessian(free[a], free[b]);
    const Vector step = search.step(p, free, own, control.max_step);
    bool moved = false;
    for (double length = 1; length > least_step && !moved; length *= 0.5) {
      Point next = search.at(p.x + length * step);
      if (!std::isfinite(next.value)) continue;
      const Vector change = next.x - p.x;
      const double slope = p.gradient.dot(change);
      moved = next.value <= p.value + enough * slope ||
              (next.value <= p.value + rounding * std::abs(p.value) &&
               std::abs(next.gradient.dot(change)) <= flatter * std::abs(slope));
      update(hessian, change, next.gradient - p.gradient);
      if (moved)
        p = std::move(next);
      else if (std::abs(slope) <= rounding * std::abs(p.value))
        break;  // shorter steps are lost in rounding too
    }
    if (!moved) break;
  }
  return search.result;
}

}  // namespace galvi
