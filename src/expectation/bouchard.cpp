#include "expectation/bouchard.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "expectation/row_scratch.h"
#include "likelihood/classes.h"
#include "likelihood/counts.h"

namespace galvi {
namespace {

constexpr int most_steps = 200;
constexpr double slope_tolerance = 1e-13;  // of G in a; the derivatives in m and v are then as accurate

/// The terms E f(sign_c (eta_c - a)) of one row, sign_y = 1, the others -1.
class Terms {
 public:
  Terms(const FunctionMean& f, const Softmax& classes, Index y, const double* mean, const double* variance)
      : f_(f), classes_(classes), y_(y), mean_(mean), variance_(variance), terms_(classes.classes) {}

  const PointExpectation& operator[](Index c) const { return terms_[c]; }
  double slope = 0.0, curvature = 0.0;  // G_a and G_aa

  /// Evaluates them at the maximum of G in a.
  void maximise() {
    double a = start(), low = -infinity, high = infinity;
    const double stride = longest_step();
    for (int i = 0; i < most_steps; ++i) {
      evaluate(a);
      if (std::fabs(slope) <= slope_tolerance) break;
      (slope > 0.0 ? low : high) = a;
      double step = -slope / curvature;
      if (!(curvature < 0.0 && std::fabs(step) <= stride)) step = std::copysign(stride, slope);
      double next = a + step;
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (next == a || next == low || next == high) break;
      a = next;
    }
  }

 private:
  double mean_of(Index c) const {
    const Index k = classes_.latent_of(c);
    return k < 0 ? 0.0 : mean_[k];
  }
  double variance_of(Index c) const {
    const Index k = classes_.latent_of(c);
    return k < 0 ? 0.0 : variance_[k];
  }
  void evaluate(double a) {
    slope = 0.0;
    curvature = 0.0;
    for (Index c = 0; c < classes_.classes; ++c) {
      f_.evaluate(c == y_ ? 1.0 : -1.0, mean_of(c) - a, variance_of(c), 2, terms_[c]);
      slope -= terms_[c].d_m;
      curvature += terms_[c].d_mm;
    }
  }
  // Without variance, if one class dominates, a lies half way between it and the others' log-sum-exp.
  double start() const {
    Index first = 0;
    for (Index c = 1; c < classes_.classes; ++c)
      if (mean_of(c) > mean_of(first)) first = c;
    const double top = mean_of(first);
    double next = -infinity, others = 0.0;
    for (Index c = 0; c < classes_.classes; ++c)
      if (c != first) next = std::max(next, mean_of(c));
    for (Index c = 0; c < classes_.classes; ++c)
      if (c != first) others += std::exp(mean_of(c) - next);
    return 0.5 * (top + next + std::log(others));
  }
  double longest_step() const {
    double most = 0.0;
    for (Index c = 0; c < classes_.classes; ++c) most = std::max(most, variance_of(c));
    return 4.0 + 2.0 * std::sqrt(most);
  }

  const FunctionMean& f_;
  const Softmax& classes_;
  Index y_;
  const double *mean_, *variance_;
  std::vector<PointExpectation> terms_;
};

}  // namespace

std::string Bouchard::refuses(const Likelihood& likelihood) const {
  if (likelihood.softmax()) return "";
  return "expectation = \"" + name() + "\" is for categorical(); use \"auto\".";
}

// Counts of classes are treated as a sum over trials, where each class has its own bound.
void Bouchard::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                            const double* variance, int order, RowExpectation& out) const {
  const Softmax classes = *likelihood.softmax();
  const Index K = classes.latents();
  if (!datum.counts) return evaluate_class(classes, static_cast<Index>(datum.y), mean, variance, order, out);
  out.value += log_arrangements(datum.counts, static_cast<int>(classes.classes), datum.size);
  RowScratch scratch(K);
  for_classes(datum, classes.classes, [&](Index y, double times) {
    scratch.fill(0.0);
    const RowExpectation& one = scratch.row;
    evaluate_class(classes, y, mean, variance, order, scratch.row);
    out.value += times * one.value;
    for (Index k = 0; k < K; ++k) {
      out.d_m[k] += times * one.d_m[k];
      out.d_v[k] += times * one.d_v[k];
    }
    if (order < 2) return;
    for (Index k = 0; k < K * K; ++k) {
      out.d_mm[k] += times * one.d_mm[k];
      out.d_mv[k] += times * one.d_mv[k];
      out.d_vv[k] += times * one.d_vv[k];
    }
  });
}

void Bouchard::evaluate_class(const Softmax& classes, Index y, const double* mean, const double* variance, int order,
                              RowExpectation& out) const {
  const Index K = classes.latents();
  Terms terms(*mean_, classes, y, mean, variance);
  terms.maximise();
  for (Index c = 0; c < classes.classes; ++c) {
    const Index k = classes.latent_of(c);
    out.value += terms[c].value;
    if (k < 0) continue;
    out.d_m[k] += terms[c].d_m;
    out.d_v[k] += terms[c].d_v;
    if (order > 1) {
      out.d_mm[k * (K + 1)] += terms[c].d_mm;
      out.d_mv[k * (K + 1)] += terms[c].d_mv;
      out.d_vv[k * (K + 1)] += terms[c].d_vv;
    }
  }
  if (order < 2 || !(terms.curvature < 0.0)) return;
  // G depends on m_k - a: G_{m_k a} = -d_mm, G_{v_k a} = -d_mv of term k
  for (Index c = 0; c < classes.classes; ++c) {
    const Index k = classes.latent_of(c);
    for (Index d = 0; d < classes.classes; ++d) {
      const Index l = classes.latent_of(d);
      if (k < 0 || l < 0) continue;
      out.d_mm[k + K * l] -= terms[c].d_mm * (terms[d].d_mm / terms.curvature);
      out.d_mv[k + K * l] -= terms[c].d_mm * (terms[d].d_mv / terms.curvature);
      out.d_vv[k + K * l] -= terms[c].d_mv * (terms[d].d_mv / terms.curvature);
    }
  }
}

}  // namespace galvi
