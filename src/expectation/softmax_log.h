// Jensen's bound on the multinomial logit (001, table 2).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "expectation/by_row.h"
#include "likelihood/classes.h"
#include "likelihood/counts.h"

namespace galvi {

/// E log sum_c exp(eta_c) <= log sum_c exp(m_c + v_c / 2); the reference class adds exp(0).
/// With w the softmax of t = m + v / 2:  d_m = e_y - w,  d_v = -w / 2,  and d_mm, d_mv, d_vv are
/// -(diag(w) - w w') times 1, 1/2 and 1/4.
class SoftmaxLog final : public ByRow {
 public:
  std::string name() const override { return "log"; }
  std::string refuses(const Likelihood& likelihood) const override {
    if (likelihood.softmax()) return "";
    return "The log bound of several classes is for categorical(); use \"auto\".";
  }
  bool exact() const override { return false; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& /*likelihood*/) const override { return true; }
  // f* = sum_k lambda_k log lambda_k + t log t, t = 1 - sum_k lambda_k that of the reference (001, table 2,
  // where the definition of t lacks the "1 -");
  // with a latent value for every class t = 0. alpha = e_y - lambda.
  bool has_conjugate(const Likelihood& /*likelihood*/) const override { return true; }
  void dual_lines(const Likelihood& likelihood, const Datum& datum, DualLine* lines) const override {
    const Softmax classes = *likelihood.softmax();
    const double n = trials_of(datum);
    for (Index k = 0; k < classes.latents(); ++k) lines[k] = DualLine::in_lambda(0.0, -1.0, n);
    for_classes(datum, classes.classes, [&](Index y, double times) {
      if (const Index own = classes.latent_of(y); own >= 0) lines[own] = DualLine::in_lambda(times, -1.0, n);
    });
  }
  void conjugate_row(const Likelihood& likelihood, const Datum& datum, const double* x,
                     RowConjugate& out) const override {
    constexpr double rounding = 1e-16;
    const Softmax classes = *likelihood.softmax();
    const Index K = classes.latents();
    const double n = trials_of(datum);
    out.value = datum.counts ? log_arrangements(datum.counts, static_cast<int>(classes.classes), n) : 0.0;
    out.rest = 0.0;
    if (classes.reference >= 0) {
      double left = 1.0;
      for (Index k = 0; k < K; ++k) left -= x[k] / n;
      // below rounding the reference's share is negligible, but must stay positive
      out.rest = left > -10.0 * rounding ? std::max(left, rounding) : left;
      out.value += n * out.rest * std::log(out.rest);
    }
    const double log_rest = classes.reference < 0 ? 0.0 : std::log(out.rest);
    for (Index k = 0; k < K; ++k) {
      const double log_x = std::log(x[k] / n);
      out.value += x[k] * log_x;
      out.slope[k] = log_x - log_rest;
      out.curvature[k] = 1.0 / x[k];
    }
  }

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override {
    const Softmax classes = *likelihood.softmax();
    const Index K = classes.latents();
    const double n = trials_of(datum);
    std::vector<double> w(K);
    double top = classes.reference < 0 ? -infinity : 0.0;
    for (Index k = 0; k < K; ++k) top = std::max(top, mean[k] + 0.5 * variance[k]);
    double sum = classes.reference < 0 ? 0.0 : std::exp(-top);
    for (Index k = 0; k < K; ++k) sum += w[k] = std::exp(mean[k] + 0.5 * variance[k] - top);
    const double log_sum = top + std::log(sum);
    out.value = datum.counts ? log_arrangements(datum.counts, static_cast<int>(classes.classes), n) : 0.0;
    for (Index k = 0; k < K; ++k) {
      w[k] /= sum;
      out.d_m[k] = -n * w[k];
      out.d_v[k] = -0.5 * n * w[k];
    }
    for_classes(datum, classes.classes, [&](Index y, double times) {
      const Index own = classes.latent_of(y);
      out.value += times * ((own < 0 ? 0.0 : mean[own]) - log_sum);
      if (own >= 0) out.d_m[own] += times;
    });
    if (order < 2) return;
    for (Index k = 0; k < K; ++k) {
      for (Index l = 0; l < K; ++l) {
        const double curvature = n * (w[k] * w[l] - (k == l ? w[k] : 0.0));
        out.d_mm[k + K * l] = curvature;
        out.d_mv[k + K * l] = 0.5 * curvature;
        out.d_vv[k + K * l] = 0.25 * curvature;
      }
    }
  }
  void add_row_gradient(const Likelihood&, const Datum&, const double*, const double*, double,
                        VectorRef) const override {}
};

}  // namespace galvi
