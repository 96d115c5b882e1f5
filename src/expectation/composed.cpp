#include "expectation/composed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "likelihood/composed.h"

namespace galvi {
namespace {

Composition composition(const Likelihood& likelihood, const Datum& datum) {
  Composition sum;
  likelihood.compose(datum, sum);
  return sum;
}

/// E f(coefficient eta + shift) of a part and its derivatives in mean and variance of eta.
struct PartMean {
  PointExpectation e{};
  double d_shift, d_coefficient;

  PartMean(const FunctionMean& mean, const Composition::Part& part, double m, double v, int order) {
    // The argument is s x, s = 1 or -1, x ~ N(|coefficient| m + s shift, coefficient^2 v).
    const double sign = std::copysign(1.0, part.coefficient), c = std::fabs(part.coefficient);
    const double at = c * m + sign * part.shift, variance = c * c * v;
    if (part.exponential) {
      // -E exp(-s x) = -exp(-s E x + variance / 2)
      e.value = -std::exp(0.5 * variance - sign * at);
      e.d_m = -sign * e.value;
      e.d_v = 0.5 * e.value;
      e.d_mm = e.value;
      e.d_mv = 0.5 * e.d_m;
      e.d_vv = 0.25 * e.value;
    } else {
      mean.evaluate(sign, at, variance, order, e);
    }
    d_shift = sign * e.d_m;
    d_coefficient = sign * (e.d_m * m + 2.0 * c * v * e.d_v);
    e.d_m *= c;
    e.d_v *= c * c;
    e.d_mm *= c * c;
    e.d_mv *= c * c * c;
    e.d_vv *= c * c * c * c;
  }
};

/// The parts of latent k, whose coefficients are of one size, as functions of x = size eta.
struct LatentParts {
  double weight = 0.0, size = 1.0, low = infinity, high = -infinity;

  LatentParts(const Composition& sum, Index k) {
    for (const Composition::Part& part : sum.parts) {
      if (part.latent != k) continue;
      weight += part.weight;
      size = std::fabs(part.coefficient);
      const double at = part.coefficient > 0.0 ? -part.shift : part.shift;
      low = std::min(low, at);
      high = std::max(high, at);
    }
  }
};

// E of the parts of latent k at x of mean t and variance 0.
PointExpectation at_argument(const FunctionMean& mean, const Composition& sum, Index k, double t) {
  PointExpectation total{}, f{};
  for (const Composition::Part& part : sum.parts) {
    if (part.latent != k) continue;
    const double sign = std::copysign(1.0, part.coefficient);
    mean.evaluate(sign, t + sign * part.shift, 0.0, 2, f);
    total.value += part.weight * f.value;
    total.d_m += part.weight * f.d_m;
    total.d_v += part.weight * f.d_v;
    total.d_mv += part.weight * f.d_mv;
  }
  return total;
}

// With one shift t has a formula; with two, as for classes between thresholds, Newton's method finds it,
// safeguarded by bisection. In units of x lambda is divided by the square of the coefficients' size.
PointConjugate conjugate_of_latent(const FunctionMean& mean, const Composition& sum, Index k, double lambda) {
  const LatentParts parts(sum, k);
  if (parts.weight == 0.0) return {0.0, 0.0, 0.0};
  const double square = parts.size * parts.size;
  lambda /= square;
  const double centre = mean.argument_at(lambda / parts.weight);
  double low = parts.low + centre, high = parts.high + centre;
  double t = 0.5 * (low + high);
  PointExpectation e = at_argument(mean, sum, k, t);
  for (int i = 0; i < 100 && low < high; ++i) {
    const double missing = lambda + 2.0 * e.d_v;
    (missing < 0.0 ? high : low) = t;
    double next = t - 0.5 * missing / e.d_mv;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::fabs(next - t) <= 1e-15 * (1.0 + std::fabs(t))) break;
    t = next;
    e = at_argument(mean, sum, k, t);
  }
  return {e.value - e.d_m * t, t / square, -0.5 / e.d_mv / (square * square)};
}

}  // namespace

std::string ComposedExpectation::refuses(const Likelihood& likelihood) const {
  if (likelihood.standard_function() == &mean_->function()) {
    if (exact() || !likelihood.signed_weights()) return "";
    return "expectation = \"" + name() + "\" is not a bound where rows are truncated; use \"auto\".";
  }
  const std::string what = &mean_->function() == &log_phi() ? "log Phi, as binomial(\"probit\")"
                                                            : "log(1 + exp(x)), as logit links";
  return "expectation = \"" + name() + "\" is for likelihoods made of " + what + "; use \"auto\".";
}

void ComposedExpectation::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                       const double* variance, int order, RowExpectation& out) const {
  const Composition sum = composition(likelihood, datum);
  const Index K = likelihood.latents();
  out.value = sum.constant;
  if (sum.linear != 0.0) {
    out.value += sum.linear * *mean;
    *out.d_m += sum.linear;
  }
  if (sum.quadratic != 0.0) {
    const double off = *mean - sum.centre;
    out.value += sum.quadratic * (off * off + *variance);
    *out.d_m += 2.0 * sum.quadratic * off;
    *out.d_v += sum.quadratic;
    if (order > 1) *out.d_mm += 2.0 * sum.quadratic;
  }
  for (const Composition::Part& part : sum.parts) {
    const Index k = part.latent;
    const PointExpectation f = PartMean(*mean_, part, mean[k], variance[k], order).e;
    out.value += part.weight * f.value;
    out.d_m[k] += part.weight * f.d_m;
    out.d_v[k] += part.weight * f.d_v;
    if (order > 1) {
      out.d_mm[k * (K + 1)] += part.weight * f.d_mm;
      out.d_mv[k * (K + 1)] += part.weight * f.d_mv;
      out.d_vv[k * (K + 1)] += part.weight * f.d_vv;
    }
  }
}

// With x = |c| eta, of mean m and variance v, a part with sign s and shift h contributes weight times a
// function of t = m + v / 2 + s h, and its weight times m where s = 1; the sum of the parts' lambda runs from
// 0 to the sum of their weights. In units of eta alpha is |c| times as large, lambda c^2 times.
void ComposedExpectation::dual_lines(const Likelihood& likelihood, const Datum& datum,
                                     DualLine* lines) const {
  const Composition sum = composition(likelihood, datum);
  for (Index k = 0; k < likelihood.latents(); ++k) {
    const LatentParts parts(sum, k);
    double risen = 0.0;
    for (const Composition::Part& part : sum.parts)
      if (part.latent == k && part.coefficient > 0.0) risen += part.weight;
    lines[k] = DualLine::in_lambda(parts.size * risen, -1.0 / parts.size,
                                   parts.size * parts.size * parts.weight);
  }
}

// sup over (m, v) of E - alpha m + lambda v / 2 is attained at any m + v / 2 = t with -2 d_v = lambda; at
// v = 0 it is E - alpha t.
void ComposedExpectation::conjugate_row(const Likelihood& likelihood, const Datum& datum, const double* x,
                                        RowConjugate& out) const {
  const Composition sum = composition(likelihood, datum);
  out.value = sum.constant;
  out.rest = infinity;
  for (Index k = 0; k < likelihood.latents(); ++k) {
    const PointConjugate latent = conjugate_of_latent(*mean_, sum, k, x[k]);
    out.value += latent.value;
    out.slope[k] = latent.slope;
    out.curvature[k] = latent.curvature;
  }
}

void ComposedExpectation::add_row_gradient(const Likelihood& likelihood, const Datum& datum,
                                           const double* mean, const double* variance, double weight,
                                           VectorRef gradient) const {
  const Composition sum = composition(likelihood, datum);
  CompositionAdjoint adjoint;
  adjoint.constant = weight;
  adjoint.linear = weight * *mean;
  adjoint.quadratic = weight * ((*mean - sum.centre) * (*mean - sum.centre) + *variance);
  adjoint.centre = -2.0 * weight * sum.quadratic * (*mean - sum.centre);
  for (const Composition::Part& part : sum.parts) {
    const PartMean f(*mean_, part, mean[part.latent], variance[part.latent], 1);
    adjoint.weight.push_back(weight * f.e.value);
    adjoint.coefficient.push_back(weight * part.weight * f.d_coefficient);
    adjoint.shift.push_back(weight * part.weight * f.d_shift);
  }
  likelihood.add_composition_gradient(datum, adjoint, gradient);
}

}  // namespace galvi
