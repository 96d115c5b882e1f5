#include "expectation/nested.h"

#include <cmath>

#include "expectation/closed_form.h"
#include "expectation/composed.h"
#include "expectation/plane_forms.h"
#include "expectation/quadrature.h"
#include "likelihood/distributional.h"
#include "quadrature/derivative_rule.h"
#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

// The exact one of a likelihood with K = 1; there is one object of each, as rows ask for it at every node.
const ByRow& exact_of_one(const Likelihood& likelihood) {
  static const ClosedForm closed_form;
  static const Quadrature by_nodes;
  static const ComposedExpectation of_sigmoids(std::make_unique<SampledMean>(log_sigmoid()));
  if (likelihood.has_closed_form()) return closed_form;
  return likelihood.standard_function() == &log_sigmoid() ? static_cast<const ByRow&>(of_sigmoids)
                                                          : by_nodes;
}

PointExpectation expectation_of_one(const Likelihood& likelihood, const Datum& datum, double mean,
                                    double variance, int order) {
  PointExpectation out{};
  RowExpectation row{0.0, &out.d_m, &out.d_v, &out.d_mm, &out.d_mv, &out.d_vv};
  const Expectation& expectation = exact_of_one(likelihood);
  expectation.evaluate_row(likelihood, datum, &mean, &variance, order, row);
  out.value = row.value;
  return out;
}

}  // namespace

void Nested::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                          const double* variance, int order, RowExpectation& out) const {
  const Distributional& form = *likelihood.distributional();
  const auto add = [&](const PointExpectation& e, Index k) {
    out.value += e.value;
    out.d_m[k] += e.d_m;
    out.d_v[k] += e.d_v;
    out.d_mm[3 * k] += e.d_mm;
    out.d_mv[3 * k] += e.d_mv;
    out.d_vv[3 * k] += e.d_vv;
  };
  const auto add_part = [&](const Split::Part& part, Index k) {
    if (part.likelihood) add(expectation_of_one(*part.likelihood, part.datum, mean[k], variance[k], order), k);
  };
  if (const auto split = form.split(datum)) {
    for (Index k = 0; k < 2; ++k) add_part(split->parts[k], k);
    return;
  }
  if (const auto shares = form.shares(datum)) return expect(*shares, mean, variance, order).add_to(order, out);
  if (const auto student = form.student_scale(datum)) return expect(*student, mean, variance, order).add_to(order, out);
  if (const auto size = form.mean_over_size(datum)) return expect(*size, mean, variance, order).add_to(order, out);
  const Nesting nesting = form.nesting(datum, mean, variance);
  const Index o = nesting.outer, i = 1 - o;
  add_part(nesting.beside, i);
  thread_local DerivativeRule rule;
  rule.place(mean[o], variance[o], nesting.smoothness);
  PointExpectation first{};
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const auto left = form.inner(datum, rule.nodes()[j]);
    PointExpectation e = expectation_of_one(*left, datum, mean[i], variance[i], order);
    if (j == 0) {
      first = e;
      add(e, i);
      continue;
    }
    const double w0 = rule.weight(0, j), w1 = rule.weight(1, j), w2 = rule.weight(2, j);
    const double value = e.value - first.value, d_m = e.d_m - first.d_m, d_v = e.d_v - first.d_v;
    out.value += w0 * value;
    out.d_m[o] += w1 * value;
    out.d_v[o] += 0.5 * w2 * value;
    out.d_m[i] += w0 * d_m;
    out.d_v[i] += w0 * d_v;
    if (order < 2) continue;
    out.d_mm[3 * o] += w2 * value;
    out.d_mm[1] += w1 * d_m;
    out.d_mm[2] += w1 * d_m;
    out.d_mm[3 * i] += w0 * (e.d_mm - first.d_mm);
    out.d_mv[3 * o] += 0.5 * rule.weight(3, j) * value;
    out.d_mv[o + 2 * i] += w1 * d_v;
    out.d_mv[i + 2 * o] += 0.5 * w2 * d_m;
    out.d_mv[3 * i] += w0 * (e.d_mv - first.d_mv);
    out.d_vv[3 * o] += 0.25 * rule.weight(4, j) * value;
    out.d_vv[1] += 0.5 * w2 * d_v;
    out.d_vv[2] += 0.5 * w2 * d_v;
    out.d_vv[3 * i] += w0 * (e.d_vv - first.d_vv);
  }
}

void Nested::add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                              const double* variance, double weight, VectorRef gradient) const {
  const Distributional& form = *likelihood.distributional();
  const auto add = [&](const Likelihood& one, const Datum& part, Index k, double share) {
    if (one.has_hyper())
      exact_of_one(one).add_row_gradient(one, part, mean + k, variance + k, share, gradient);
  };
  const auto add_part = [&](const Split::Part& part, Index k) {
    if (part.likelihood) add(*part.likelihood, part.datum, k, weight);
  };
  if (const auto split = form.split(datum)) {
    for (Index k = 0; k < 2; ++k) add_part(split->parts[k], k);
    return;
  }
  if (const auto student = form.student_scale(datum)) {
    gradient[student->position] += weight * slope_in_df(*student, mean, variance);
    return;
  }
  const Nesting nesting = form.nesting(datum, mean, variance);
  add_part(nesting.beside, 1 - nesting.outer);
  thread_local GaussianRule rule;
  rule.place(mean[nesting.outer], variance[nesting.outer], nesting.smoothness);
  for (std::size_t j = 0; j < rule.nodes().size(); ++j)
    add(*form.inner(datum, rule.nodes()[j]), datum, 1 - nesting.outer, weight * rule.weights()[j]);
}

}  // namespace galvi
