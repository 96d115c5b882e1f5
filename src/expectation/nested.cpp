#include "expectation/nested.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "expectation/closed_form.h"
#include "expectation/composed.h"
#include "expectation/plane_forms.h"
#include "expectation/quadrature.h"
#include "expectation/row_scratch.h"
#include "likelihood/distributional.h"
#include "numeric/context.h"
#include "quadrature/derivative_rule.h"
#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

// The exact expectations of likelihoods with K = 1: one object of each, as rows use it at every node.
const ByRow& exact_of_one(const Likelihood& likelihood) {
  static const ClosedForm closed_form;
  static const Quadrature by_nodes;
  static const ComposedExpectation of_sigmoids(std::make_unique<SampledMean>(log_sigmoid())),
      of_phis(std::make_unique<SampledMean>(log_phi())), of_cloglogs(std::make_unique<SampledMean>(log_cloglog()));
  if (likelihood.has_closed_form()) return closed_form;
  const StandardFunction* f = likelihood.standard_function();
  for (const auto& [made_of, expectation] : {std::pair{&log_sigmoid(), &of_sigmoids},
                                             std::pair{&log_phi(), &of_phis},
                                             std::pair{&log_cloglog(), &of_cloglogs}})
    if (f == made_of) return *expectation;
  return by_nodes;
}

/// Some of a row's latent values: those from `first` on but for `skipped`, -1 for none.
struct Places {
  Index first, skipped = -1;
  Index operator()(Index k) const { return first + k + (skipped >= 0 && first + k >= skipped ? 1 : 0); }
};

// out += part, whose latent values are these `count` of out's K
void add_at(const RowExpectation& part, Index count, Places at, Index K, RowExpectation& out) {
  out.value += part.value;
  for (Index l = 0; l < count; ++l) {
    out.d_m[at(l)] += part.d_m[l];
    out.d_v[at(l)] += part.d_v[l];
    for (Index k = 0; k < count; ++k) {
      const Index from = k + count * l, to = at(k) + K * at(l);
      out.d_mm[to] += part.d_mm[from];
      out.d_mv[to] += part.d_mv[from];
      out.d_vv[to] += part.d_vv[from];
    }
  }
}

const SampledMean& mean_of_sigmoid() {
  static const SampledMean mean(log_sigmoid());
  return mean;
}

/// E w f(x + s(u)) over x ~ N(mean, variance), f = log sigmoid, as a function of u.
class ShiftedSigmoid {
 public:
  ShiftedSigmoid(const Distributional& form, const Datum& datum, double weight, double mean, double variance,
                 int order)
      : form_(form), datum_(datum), weight_(weight), mean_(mean), variance_(variance), order_(order) {
    end_ = nothing_left + reach * std::sqrt(variance);
  }
  /// s: the shift at u and its derivatives.
  PointExpectation at(double u, double s[5]) {
    form_.shift(datum_, u, s);
    if (mean_ + s[0] > end_) return {};
    if (s[0] > no_shift) return of_shift(s[0]);
    if (!unshifted_) unshifted_ = of_shift(0.0);
    return *unshifted_;
  }
  void add_gradient(double u, double weight, VectorRef gradient) {
    double s[5];
    const PointExpectation e = at(u, s);
    if (e.d_m != 0.0) form_.add_shift_gradient(datum_, u, weight * e.d_m, gradient);
  }

 private:
  static constexpr double nothing_left = 40.0, reach = 7.5, no_shift = 1e-17;

  PointExpectation of_shift(double s) const {
    PointExpectation e{};
    mean_of_sigmoid().evaluate(1.0, mean_ + s, variance_, order_, e);
    for (double* part : {&e.value, &e.d_m, &e.d_v, &e.d_mm, &e.d_mv, &e.d_vv}) *part *= weight_;
    return e;
  }

  const Distributional& form_;
  const Datum& datum_;
  double weight_, mean_, variance_, end_;
  int order_;
  std::optional<PointExpectation> unshifted_;
};

// Where the outer Gaussian is narrow. With f_q = w E f^(q)(x + s(u)), derivatives in the mean of u are means of
// d/du f_q = s' f_(q + 1) and so on by the chain rule, without differences of values.
void add_narrow(ShiftedSigmoid& sigmoid, const GaussianRule& rule, Index o, int order, RowExpectation& out) {
  const Index i = 1 - o;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    double s[5];
    const double w = rule.weights()[j];
    const PointExpectation e = sigmoid.at(rule.nodes()[j], s);
    const double f1 = e.d_m, f2 = 2.0 * e.d_v, f3 = 2.0 * e.d_mv, f4 = 4.0 * e.d_vv;
    const double square = s[1] * s[1], d_uu = s[2] * f1 + square * f2;
    out.value += w * e.value;
    out.d_m[o] += w * s[1] * f1;
    out.d_v[o] += 0.5 * w * d_uu;
    out.d_m[i] += w * f1;
    out.d_v[i] += 0.5 * w * f2;
    if (order < 2) continue;
    const double cross = w * s[1] * f2, fourth = 0.25 * w * (s[2] * f3 + square * f4);
    out.d_mm[3 * o] += w * d_uu;
    out.d_mm[1] += cross;
    out.d_mm[2] += cross;
    out.d_mm[3 * i] += w * f2;
    out.d_mv[3 * o] += 0.5 * w * (s[3] * f1 + 3.0 * s[1] * s[2] * f2 + square * s[1] * f3);
    out.d_mv[o + 2 * i] += 0.5 * w * s[1] * f3;
    out.d_mv[i + 2 * o] += 0.5 * w * (s[2] * f2 + square * f3);
    out.d_mv[3 * i] += 0.5 * w * f3;
    out.d_vv[3 * o] += 0.25 * w *
                       (s[4] * f1 + (4.0 * s[1] * s[3] + 3.0 * s[2] * s[2]) * f2 + 6.0 * square * s[2] * f3 +
                        square * square * f4);
    out.d_vv[1] += fourth;
    out.d_vv[2] += fourth;
    out.d_vv[3 * i] += 0.25 * w * f4;
  }
}

/// What a row with K latent values needs for its outer mean.
struct Workspace {
  explicit Workspace(Index K) : first(K - 1), here(K - 1) {}
  DerivativeRule rule;
  RowScratch first, here;  // the expectation over the others at the first node, and at another

  /// here.mean, here.variance: those of the latent values but eta_o.   mean, variance: K
  void gather_others(const double* mean, const double* variance, Index o, Index K) {
    for (Index k = 0, at = 0; k < K; ++k) {
      if (k == o) continue;
      here.mean[at] = mean[k];
      here.variance[at++] = variance[k];
    }
  }
};

/// The mean over eta_o, by values at the rule's nodes, of the expectation over the K - 1 others.
/// value_at(u, part): adds that expectation at eta_o = u.
template <class Value>
void add_by_values(Workspace& space, Value value_at, Index o, Index K, int order, RowExpectation& out) {
  const Index inner = K - 1;
  const Places at{0, o};
  const DerivativeRule& rule = space.rule;
  RowScratch &first = space.first, &here = space.here;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    if (j == 0) {
      first.fill(0.0);
      value_at(rule.nodes()[j], first.row);
      add_at(first.row, inner, at, K, out);
      continue;
    }
    here.fill(0.0);
    value_at(rule.nodes()[j], here.row);
    const RowExpectation &e = here.row, &start = first.row;
    const double w0 = rule.weight(0, j), w1 = rule.weight(1, j), w2 = rule.weight(2, j);
    const double value = e.value - start.value;
    out.value += w0 * value;
    out.d_m[o] += w1 * value;
    out.d_v[o] += 0.5 * w2 * value;
    if (order > 1) {
      out.d_mm[o + K * o] += w2 * value;
      out.d_mv[o + K * o] += 0.5 * rule.weight(3, j) * value;
      out.d_vv[o + K * o] += 0.25 * rule.weight(4, j) * value;
    }
    for (Index l = 0; l < inner; ++l) {
      const Index i = at(l);
      const double d_m = e.d_m[l] - start.d_m[l], d_v = e.d_v[l] - start.d_v[l];
      out.d_m[i] += w0 * d_m;
      out.d_v[i] += w0 * d_v;
      if (order < 2) continue;
      out.d_mm[o + K * i] += w1 * d_m;
      out.d_mm[i + K * o] += w1 * d_m;
      out.d_mv[o + K * i] += w1 * d_v;
      out.d_mv[i + K * o] += 0.5 * w2 * d_m;
      out.d_vv[o + K * i] += 0.5 * w2 * d_v;
      out.d_vv[i + K * o] += 0.5 * w2 * d_v;
      for (Index k = 0; k < inner; ++k) {
        const Index from = k + inner * l, to = at(k) + K * i;
        out.d_mm[to] += w0 * (e.d_mm[from] - start.d_mm[from]);
        out.d_mv[to] += w0 * (e.d_mv[from] - start.d_mv[from]);
        out.d_vv[to] += w0 * (e.d_vv[from] - start.d_vv[from]);
      }
    }
  }
}

}  // namespace

void Nested::evaluate_part(const Likelihood& part, const Datum& datum, const double* mean, const double* variance,
                           int order, RowExpectation& out) const {
  poll_within_row();
  if (part.latents() == 1)
    exact_of_one(part).evaluate_row(part, datum, mean, variance, order, out);
  else
    evaluate_row(part, datum, mean, variance, order, out);
}

void Nested::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                          const double* variance, int order, RowExpectation& out) const {
  const Distributional& form = *likelihood.distributional();
  const Index K = likelihood.latents();
  const auto add_part = [&](const Split::Part& part) {
    if (!part.likelihood) return;
    const Index count = part.likelihood->latents(), first = part.first;
    if (count == 1) {
      PointExpectation e{};
      RowExpectation one{0.0, &e.d_m, &e.d_v, &e.d_mm, &e.d_mv, &e.d_vv};
      evaluate_part(*part.likelihood, part.datum, mean + first, variance + first, order, one);
      return add_at(one, 1, {first}, K, out);
    }
    RowScratch own(count);
    own.fill(0.0);
    evaluate_part(*part.likelihood, part.datum, mean + first, variance + first, order, own.row);
    add_at(own.row, count, {first}, K, out);
  };
  if (form.row_has_closed_form(datum)) return form.add_closed_form(datum, mean, variance, out);
  if (const auto split = form.split(datum)) {
    for (const Split::Part& part : split->parts) add_part(part);
    return;
  }
  if (const auto shares = form.shares(datum)) return expect(*shares, mean, variance, order).add_to(order, out);
  if (const auto student = form.student_scale(datum)) return expect(*student, mean, variance, order).add_to(order, out);
  if (const auto tails = form.student_tails(datum))
    if (add_expectation(*tails, mean, variance, order, out)) return;
  if (const auto size = form.mean_over_size(datum)) return expect(*size, mean, variance, order).add_to(order, out);
  if (const auto dispersion = form.mean_over_dispersion(datum))
    return expect(*dispersion, mean, variance, order).add_to(order, out);
  const Nesting nesting = form.nesting(datum, mean, variance);
  const Index o = nesting.outer;
  add_part(nesting.beside);
  Workspace space(K);
  DerivativeRule& rule = space.rule;
  if (nesting.sigmoid_weight != 0.0) {
    const Index i = 1 - o;
    ShiftedSigmoid sigmoid(form, datum, nesting.sigmoid_weight, mean[i], variance[i], order);
    if (GaussianRule::narrow(variance[o], nesting.smoothness)) {
      GaussianRule hermite;
      hermite.place(mean[o], variance[o], nesting.smoothness);
      return add_narrow(sigmoid, hermite, o, order, out);
    }
    rule.place(mean[o], variance[o], nesting.smoothness);
    double s[5];
    return add_by_values(space, [&](double u, RowExpectation& at) { at.add(sigmoid.at(u, s)); }, o, K, order, out);
  }
  rule.place(mean[o], variance[o], nesting.smoothness);
  // the latent values but eta_o
  space.gather_others(mean, variance, o, K);
  const auto value_at = [&](double u, RowExpectation& at) {
    evaluate_part(*form.inner(datum, u), datum, space.here.mean, space.here.variance, order, at);
  };
  add_by_values(space, value_at, o, K, order, out);
}

void Nested::add_part_gradient(const Likelihood& part, const Datum& datum, const double* mean, const double* variance,
                               double weight, VectorRef gradient) const {
  poll_within_row();
  if (!part.has_hyper()) return;
  const ByRow& expectation = part.latents() == 1 ? exact_of_one(part) : *this;
  expectation.add_row_gradient(part, datum, mean, variance, weight, gradient);
}

void Nested::add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                              const double* variance, double weight, VectorRef gradient) const {
  const Distributional& form = *likelihood.distributional();
  const Index K = likelihood.latents();
  const auto add_part = [&](const Split::Part& part) {
    if (part.likelihood)
      add_part_gradient(*part.likelihood, part.datum, mean + part.first, variance + part.first, weight, gradient);
  };
  if (const auto split = form.split(datum)) {
    for (const Split::Part& part : split->parts) add_part(part);
    return;
  }
  if (const auto student = form.student_scale(datum)) {
    gradient[student->position] += weight * slope_in_df(*student, mean, variance);
    return;
  }
  const Nesting nesting = form.nesting(datum, mean, variance);
  const Index o = nesting.outer;
  add_part(nesting.beside);
  GaussianRule rule;
  rule.place(mean[o], variance[o], nesting.smoothness);
  Workspace space(K);
  space.gather_others(mean, variance, o, K);
  const double *m = space.here.mean, *v = space.here.variance;
  std::optional<ShiftedSigmoid> sigmoid;
  if (nesting.sigmoid_weight != 0.0) sigmoid.emplace(form, datum, nesting.sigmoid_weight, *m, *v, 1);
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const double u = rule.nodes()[j], share = weight * rule.weights()[j];
    if (sigmoid)
      sigmoid->add_gradient(u, share, gradient);
    else
      add_part_gradient(*form.inner(datum, u), datum, m, v, share, gradient);
  }
}

}  // namespace galvi
