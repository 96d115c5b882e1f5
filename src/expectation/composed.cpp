#include "expectation/composed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "likelihood/composed.h"

namespace galvi {
namespace {

const Composition& composition(const Likelihood& likelihood, const Datum& datum) {
  thread_local Composition sum;
  sum.clear();
  likelihood.compose(datum, sum);
  return sum;
}

// E of the parts of latent k at mean t and variance 0.
PointExpectation at_argument(const FunctionMean& mean, const Composition& sum, Index k, double t) {
  PointExpectation total{}, f{};
  for (const Composition::Part& part : sum.parts) {
    if (part.latent != k) continue;
    mean.evaluate(part.sign, t + part.sign * part.shift, 0.0, 2, f);
    total.value += part.weight * f.value;
    total.d_m += part.weight * f.d_m;
    total.d_v += part.weight * f.d_v;
    total.d_mv += part.weight * f.d_mv;
  }
  return total;
}

// With one shift t has a formula; with two, as for classes between thresholds, Newton's method finds it,
// safeguarded by bisection.
PointConjugate conjugate_of_latent(const FunctionMean& mean, const Composition& sum, Index k, double lambda) {
  double weight = 0.0, low = infinity, high = -infinity;
  for (const Composition::Part& part : sum.parts) {
    if (part.latent != k) continue;
    weight += part.weight;
    low = std::min(low, -part.sign * part.shift);
    high = std::max(high, -part.sign * part.shift);
  }
  if (weight == 0.0) return {0.0, 0.0, 0.0};
  const double centre = mean.argument_at(lambda / weight);
  low += centre;
  high += centre;
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
  return {e.value - e.d_m * t, t, -0.5 / e.d_mv};
}

}  // namespace

std::string ComposedExpectation::refuses(const Likelihood& likelihood) const {
  if (likelihood.standard_function() == &mean_->function()) return "";
  const std::string what = &mean_->function() == &log_phi() ? "log Phi, as binomial(\"probit\")"
                                                            : "log(1 + exp(x)), as logit links";
  return "expectation = \"" + name() + "\" is for likelihoods made of " + what + "; use \"auto\".";
}

void ComposedExpectation::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                       const double* variance, int order, RowExpectation& out) const {
  const Composition& sum = composition(likelihood, datum);
  const Index K = likelihood.latents();
  out.value = sum.constant;
  PointExpectation f{};
  for (const Composition::Part& part : sum.parts) {
    const Index k = part.latent;
    // sign eta + shift = sign x with x = eta + sign shift
    mean_->evaluate(part.sign, mean[k] + part.sign * part.shift, variance[k], order, f);
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

// A part with sign s and shift c contributes weight times a function of t = m + v / 2 + s c, and its weight
// times m where s = 1; lambda_k is the sum of the parts' and runs from 0 to the sum of their weights.
void ComposedExpectation::dual_lines(const Likelihood& likelihood, const Datum& datum,
                                     DualLine* lines) const {
  const Index K = likelihood.latents();
  std::vector<double> risen(K, 0.0), all(K, 0.0);
  for (const Composition::Part& part : composition(likelihood, datum).parts) {
    all[part.latent] += part.weight;
    if (part.sign > 0.0) risen[part.latent] += part.weight;
  }
  for (Index k = 0; k < K; ++k) lines[k] = DualLine::in_lambda(risen[k], -1.0, all[k]);
}

// sup over (m, v) of E - alpha m + lambda v / 2 is attained at any m + v / 2 = t with -2 d_v = lambda; at
// v = 0 it is E - alpha t.
void ComposedExpectation::conjugate_row(const Likelihood& likelihood, const Datum& datum, const double* x,
                                        RowConjugate& out) const {
  const Composition& sum = composition(likelihood, datum);
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
  const Composition& sum = composition(likelihood, datum);
  CompositionAdjoint adjoint;
  adjoint.constant = weight;
  PointExpectation f{};
  for (const Composition::Part& part : sum.parts) {
    mean_->evaluate(part.sign, mean[part.latent] + part.sign * part.shift, variance[part.latent], 1, f);
    adjoint.weight.push_back(weight * f.value);
    adjoint.shift.push_back(weight * part.weight * part.sign * f.d_m);
  }
  likelihood.add_composition_gradient(datum, adjoint, gradient);
}

}  // namespace galvi
