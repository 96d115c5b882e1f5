#include "expectation/quadrature.h"

#include "expectation/gaussian_rule.h"

namespace galvi {

std::string Quadrature::refuses(const Likelihood& likelihood) const {
  if (likelihood.latents() != 1)
    return "Quadrature by nodes serves likelihoods with one latent value per observation.";
  if (likelihood.smoothness().width == 0.0) {
    return "The log density has a kink, where quadrature is inaccurate: use expectation = \"closed_form\".";
  }
  return "";
}

void Quadrature::evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean,
                                double variance, int /*order*/, PointExpectation& out) const {
  thread_local GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness(datum));
  double l[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    double at_node[5];
    likelihood.derivatives(datum, rule.nodes()[j], at_node);
    for (int k = 0; k < 5; ++k) l[k] += rule.weights()[j] * at_node[k];
  }
  out = {l[0], l[1], 0.5 * l[2], l[2], 0.5 * l[3], 0.25 * l[4]};
}

}  // namespace galvi
