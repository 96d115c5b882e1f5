// Likelihoods whose log density is a weighted sum of one standard function (function/composition.h).
#pragma once

#include "function/composition.h"
#include "function/standard_function.h"
#include "likelihood/likelihood.h"

namespace galvi {

/// Writes compose() and, if it has hyperparameters, add_composition_gradient(); the rest follows.
class Composed : public Likelihood {
 public:
  explicit Composed(const StandardFunction& f) : f_(f) {}

  double log_density(const Datum& datum, const double* eta) const override {
    const Composition sum = composition(datum);
    double value = sum.constant;
    if (sum.linear != 0.0) value += sum.linear * *eta;
    if (sum.quadratic != 0.0) value += sum.quadratic * (*eta - sum.centre) * (*eta - sum.centre);
    for (const Composition::Part& part : sum.parts)
      value += part.weight * function(part).value(argument(part, eta));
    return value;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Composition sum = composition(datum);
    double f[5];
    out[0] = sum.constant;
    if (sum.linear != 0.0) out[0] += sum.linear * eta;
    out[1] = sum.linear;
    out[2] = out[3] = out[4] = 0.0;
    if (sum.quadratic != 0.0) {
      const double off = eta - sum.centre;
      out[0] += sum.quadratic * off * off;
      out[1] += 2.0 * sum.quadratic * off;
      out[2] = 2.0 * sum.quadratic;
    }
    for (const Composition::Part& part : sum.parts) {
      function(part).derivatives(argument(part, &eta), f);
      double chain = part.weight;
      for (int k = 0; k < 5; ++k, chain *= part.coefficient) out[k] += chain * f[k];
    }
  }
  Smoothness smoothness() const override { return f_.smoothness(); }
  const StandardFunction* standard_function() const override { return &f_; }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    if (!has_hyper()) return;
    const Composition sum = composition(datum);
    CompositionAdjoint adjoint;
    adjoint.constant = weight;
    adjoint.linear = weight * *eta;
    adjoint.quadratic = weight * (*eta - sum.centre) * (*eta - sum.centre);
    adjoint.centre = -2.0 * weight * sum.quadratic * (*eta - sum.centre);
    double f[5];
    for (const Composition::Part& part : sum.parts) {
      function(part).derivatives(argument(part, eta), f);
      adjoint.weight.push_back(weight * f[0]);
      adjoint.coefficient.push_back(weight * part.weight * f[1] * eta[part.latent]);
      adjoint.shift.push_back(weight * part.weight * f[1]);
    }
    add_composition_gradient(datum, adjoint, gradient);
  }

 protected:
  const StandardFunction& function(const Composition::Part& part) const {
    return part.exponential ? log_gumbel() : f_;
  }
  static double argument(const Composition::Part& part, const double* eta) {
    return part.coefficient * eta[part.latent] + part.shift;
  }
  Composition composition(const Datum& datum) const {
    Composition sum;
    compose(datum, sum);
    return sum;
  }
  const StandardFunction& f_;
};

}  // namespace galvi
