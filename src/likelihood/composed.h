// Log densities that are weighted sums of one standard function.
#pragma once

#include <vector>

#include "likelihood/standard_function.h"

namespace galvi {

/// log p(y | eta) = constant + linear eta_0 + sum_j weight_j f_j(coefficient_j eta_{latent_j} + shift_j),
/// with f_j the likelihood's standard function or, in parts that are `exponential`, log_gumbel(), whose mean
/// has a closed form. signed_weights() says whether weights may be negative.
struct Composition {
  struct Part {
    Index latent;
    double weight, coefficient, shift;
    bool exponential;
  };
  double constant = 0.0, linear = 0.0;
  std::vector<Part> parts;

  void clear() {
    constant = linear = 0.0;
    parts.clear();
  }
  /// Parts without weight are left out, because 0 times an overflowed logarithm is not a number.
  void add(Index latent, double weight, double coefficient, double shift = 0.0) {
    if (weight != 0.0) parts.push_back({latent, weight, coefficient, shift, false});
  }
  /// -weight exp(-(coefficient eta + shift))
  void add_exponential(Index latent, double weight, double coefficient, double shift = 0.0) {
    if (weight != 0.0) parts.push_back({latent, weight, coefficient, shift, true});
  }
};

/// The derivative of a sum of parts, each with its own mean of f, in the composition's numbers.
struct CompositionAdjoint {
  double constant = 1.0, linear = 0.0;
  std::vector<double> weight, coefficient, shift;  // one per part
};

/// Writes compose() and, if it has hyperparameters, add_composition_gradient(); the rest follows.
class Composed : public Likelihood {
 public:
  explicit Composed(const StandardFunction& f) : f_(f) {}

  double log_density(const Datum& datum, const double* eta) const override {
    const Composition& sum = composition(datum);
    double value = sum.constant;
    if (sum.linear != 0.0) value += sum.linear * *eta;
    for (const Composition::Part& part : sum.parts)
      value += part.weight * function(part).value(argument(part, eta));
    return value;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Composition& sum = composition(datum);
    double f[5];
    out[0] = sum.constant;
    if (sum.linear != 0.0) out[0] += sum.linear * eta;
    out[1] = sum.linear;
    out[2] = out[3] = out[4] = 0.0;
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
    const Composition& sum = composition(datum);
    CompositionAdjoint adjoint;
    adjoint.constant = weight;
    adjoint.linear = weight * *eta;
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
  const Composition& composition(const Datum& datum) const {
    thread_local Composition sum;
    sum.clear();
    compose(datum, sum);
    return sum;
  }
  const StandardFunction& f_;
};

}  // namespace galvi
