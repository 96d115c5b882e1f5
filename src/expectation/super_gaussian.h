// The scale-mixture bound on heavy-tailed log densities.
#pragma once

#include <cmath>

#include "expectation/by_row.h"

namespace galvi {

/// Where log p = g(t) is a convex function of t = (y - eta)^2, Jensen gives E log p >= g(E t), E t = (y -
/// mean)^2 + variance: the bound by Gaussians with the best scale (001 calls such likelihoods
/// super-Gaussian). With r = sqrt(E t), g(E t) is log p at eta = y - r.
class SuperGaussian final : public ScalarByRow {
 public:
  std::string name() const override { return "super_gaussian"; }
  std::string refuses(const Likelihood& likelihood) const override {
    if (likelihood.super_gaussian()) return "";
    return "expectation = \"super_gaussian\" is for the laplace and student likelihoods; use \"auto\".";
  }
  bool exact() const override { return false; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }

 protected:
  void evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                      int /*order*/, PointExpectation& out) const override {
    const double residual = datum.y - mean, r = root(residual, variance);
    double l[5];
    likelihood.derivatives(datum, datum.y - r, l);
    // L(r) = l(y - r), g(t) = L(sqrt t):  g' = L' / (2 r),  g'' = (L'' - L' / r) / (4 r^2)
    const double slope = -l[1] / (2.0 * r), bend = (l[2] + l[1] / r) / (4.0 * r * r);
    out.value = l[0];
    out.d_m = -2.0 * residual * slope;
    out.d_v = slope;
    out.d_mm = 2.0 * slope + 4.0 * residual * residual * bend;
    out.d_mv = -2.0 * residual * bend;
    out.d_vv = bend;
  }
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override {
    const double eta = datum.y - root(datum.y - *mean, *variance);
    likelihood.add_gradient(datum, &eta, weight, gradient);
  }

 private:
  // Kept away from 0, where the slope of laplace's g is infinite.
  static double root(double residual, double variance) {
    return std::max(std::hypot(residual, std::sqrt(variance)), 1e-75);
  }
};

}  // namespace galvi
