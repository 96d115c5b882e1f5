#include "expectation/composed.h"

#include "likelihood/composed.h"

namespace galvi {
namespace {

const Composition& composition(const Likelihood& likelihood, const Datum& datum) {
  thread_local Composition sum;
  sum.clear();
  likelihood.compose(datum, sum);
  return sum;
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
