#include "expectation/quadrature.h"

#include "expectation/gaussian_rule.h"

namespace galvi {
namespace {

// l[k] = E d^k log p / d eta^k
void from_rule(const Likelihood& likelihood, const Datum& datum, double mean, double variance, double l[5]) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness());
  for (int k = 0; k < 5; ++k) l[k] = 0.0;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    double at_node[5];
    likelihood.derivatives(datum, rule.nodes()[j], at_node);
    for (int k = 0; k < 5; ++k) l[k] += rule.weights()[j] * at_node[k];
  }
}

}  // namespace

Quadrature::Quadrature(const Likelihood& likelihood) : function_(likelihood.standard_function()) {
  if (function_) sampled_.emplace(*function_);
}

std::string Quadrature::refuses(const Likelihood& likelihood) const {
  if (likelihood.latents() != 1)
    return "Quadrature serves likelihoods with one latent value per observation.";
  if (likelihood.smoothness().width == 0.0) {
    return "The log density has a kink, where quadrature is inaccurate: use expectation = \"closed_form\".";
  }
  return "";
}

// l = constant + plus f(eta) + minus f(-eta), f by its samples
bool Quadrature::from_samples(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                              int order, double l[5]) const {
  const SignedCounts count = likelihood.signed_counts(datum);
  double f[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  l[0] = count.constant;
  l[1] = l[2] = l[3] = l[4] = 0.0;
  if (count.plus != 0.0) {
    if (!sampled_->means(mean, variance, order, f)) return false;
    for (int k = 0; k < 5; ++k) l[k] += count.plus * f[k];
  }
  if (count.minus != 0.0) {
    if (!sampled_->means(-mean, variance, order, f)) return false;
    for (int k = 0; k < 5; ++k) l[k] += (k % 2 == 0 ? count.minus : -count.minus) * f[k];
  }
  return true;
}

void Quadrature::evaluate_row(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                              int order, PointExpectation& out) const {
  double l[5];
  const bool same = sampled_ && likelihood.standard_function() == function_;
  if (!same || !from_samples(likelihood, datum, mean, variance, order, l)) {
    from_rule(likelihood, datum, mean, variance, l);
  }
  out = {l[0], l[1], 0.5 * l[2], l[2], 0.5 * l[3], 0.25 * l[4]};
}

}  // namespace galvi
