// The second-order Taylor approximation (003, section 2.3), which is not a bound.
#pragma once

#include "expectation/by_row.h"

namespace galvi {

/// E l = l(m) + v l''(m) / 2, l = log p. As in 003, d_m = l'(m), which is not the derivative of this value
/// but makes the fixed point the Laplace posterior: the mode of log p(y, eta) with its curvature. There the
/// approximate bound is Laplace's approximation of the log evidence.
class Taylor final : public ScalarByRow {
 public:
  std::string name() const override { return "taylor"; }
  std::string refuses(const Likelihood& likelihood) const override {
    if (likelihood.latents() != 1)
      return std::string("expectation = \"taylor\" serves likelihoods with one latent value per observation; "
                         "use ") +
             (likelihood.distributional() ? "\"auto\"." : "\"log\" or \"bouchard\".");
    if (likelihood.smoothness().width == 0.0)
      return "The log density has a kink, where no Taylor series exists: use expectation = \"closed_form\".";
    return "";
  }
  bool exact() const override { return false; }
  bool is_bound() const override { return false; }
  bool consistent() const override { return false; }
  bool one_optimum(const Likelihood&) const override { return false; }

 protected:
  void evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                      int /*order*/, PointExpectation& out) const override {
    double l[5];
    likelihood.derivatives(datum, mean, l);
    out = {l[0] + 0.5 * variance * l[2], l[1], 0.5 * l[2], l[2], 0.5 * l[3], 0.0};
  }
  // Likelihoods give d log p / d hyper at eta; its second derivative in eta is taken by finite differences of
  // fourth order.
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override {
    constexpr double h = 0.02, stencil[5] = {-1.0, 16.0, -30.0, 16.0, -1.0};
    likelihood.add_gradient(datum, mean, weight, gradient);
    for (int j = 0; j < 5; ++j) {
      const double eta = *mean + (j - 2) * h;
      likelihood.add_gradient(datum, &eta, weight * 0.5 * *variance * stencil[j] / (12.0 * h * h), gradient);
    }
  }
};

}  // namespace galvi
