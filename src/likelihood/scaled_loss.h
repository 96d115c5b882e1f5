// Two linear predictors whose expectation is a closed form: a loss and how heavily it weighs.
#pragma once

#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

/// log p(y | eta) = constant + slope eta_2 - exp(rate eta_2) loss(y, eta_1).
struct ScaledLoss {
  double constant, slope, rate;

  /// Its expectation, from that of the loss over eta_1: with W = E exp(rate eta_2) = exp(rate m_2 + rate^2 v_2 /
  /// 2) it is constant + slope m_2 - W E loss. Products are formed in logarithms, as W may overflow.
  void add_expectation(const PointExpectation& loss, const double* mean, const double* variance,
                       RowExpectation& out) const {
    const double half = 0.5 * rate * rate, log_W = rate * mean[1] + half * variance[1];
    const auto W = [&](double x) { return std::copysign(std::exp(std::log(std::fabs(x)) + log_W), x); };
    const double L = W(loss.value), Lm = W(loss.d_m), Lv = W(loss.d_v);
    out.value += constant + slope * mean[1] - L;
    out.d_m[0] -= Lm;
    out.d_m[1] += slope - rate * L;
    out.d_v[0] -= Lv;
    out.d_v[1] -= half * L;
    out.d_mm[0] -= W(loss.d_mm);
    out.d_mm[1] -= rate * Lm;
    out.d_mm[2] -= rate * Lm;
    out.d_mm[3] -= 2.0 * half * L;
    out.d_mv[0] -= W(loss.d_mv);
    out.d_mv[1] -= rate * Lv;
    out.d_mv[2] -= half * Lm;
    out.d_mv[3] -= rate * half * L;
    out.d_vv[0] -= W(loss.d_vv);
    out.d_vv[1] -= half * Lv;
    out.d_vv[2] -= half * Lv;
    out.d_vv[3] -= half * half * L;
  }
  /// Of y ~ N(eta_1, exp(2 eta_2)):  loss (y - eta_1)^2 / 2.
  static void add_gaussian(double constant, double y, const double* mean, const double* variance,
                           RowExpectation& out) {
    const double r = y - mean[0], spread = std::hypot(r, std::sqrt(variance[0]));
    const ScaledLoss form{constant, -1.0, -2.0};
    form.add_expectation({0.5 * spread * spread, -r, 0.5, 1.0, 0.0, 0.0}, mean, variance, out);
  }
};

}  // namespace galvi
