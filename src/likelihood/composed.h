// Log densities that are weighted sums of one standard function.
#pragma once

#include <vector>

#include "likelihood/standard_function.h"

namespace galvi {

/// log p(y | eta) = constant + sum_j weight_j f(sign_j eta_{latent_j} + shift_j), f the likelihood's standard
/// function, weight_j > 0, sign_j = 1 or -1.
struct Composition {
  struct Part {
    Index latent;
    double weight, sign, shift;
  };
  double constant = 0.0;
  std::vector<Part> parts;

  void clear() {
    constant = 0.0;
    parts.clear();
  }
  /// Parts without weight are left out, as 0 times an overflown logarithm is not a number.
  void add(Index latent, double weight, double sign, double shift = 0.0) {
    if (weight > 0.0) parts.push_back({latent, weight, sign, shift});
  }
};

/// The derivative of a sum of parts, each with its own mean of f, in what it is composed of.
struct CompositionAdjoint {
  double constant = 1.0;
  std::vector<double> weight, shift;  // one per part
};

/// Writes compose() and, if it has hyperparameters, add_composition_gradient(); the rest follows.
class Composed : public Likelihood {
 public:
  explicit Composed(const StandardFunction& f) : f_(f) {}

  double log_density(const Datum& datum, const double* eta) const override {
    const Composition& sum = composition(datum);
    double value = sum.constant;
    for (const Composition::Part& part : sum.parts) value += part.weight * f_.value(argument(part, eta));
    return value;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Composition& sum = composition(datum);
    double f[5];
    out[0] = sum.constant;
    out[1] = out[2] = out[3] = out[4] = 0.0;
    for (const Composition::Part& part : sum.parts) {
      f_.derivatives(argument(part, &eta), f);
      for (int k = 0; k < 5; ++k) out[k] += part.weight * (k % 2 == 0 ? f[k] : part.sign * f[k]);
    }
  }
  Smoothness smoothness() const override { return f_.smoothness(); }
  const StandardFunction* standard_function() const override { return &f_; }

  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    if (!has_hyper()) return;
    const Composition& sum = composition(datum);
    CompositionAdjoint adjoint;
    adjoint.constant = weight;
    double f[5];
    for (const Composition::Part& part : sum.parts) {
      f_.derivatives(argument(part, eta), f);
      adjoint.weight.push_back(weight * f[0]);
      adjoint.shift.push_back(weight * part.weight * f[1]);
    }
    add_composition_gradient(datum, adjoint, gradient);
  }

 protected:
  static double argument(const Composition::Part& part, const double* eta) {
    return part.sign * eta[part.latent] + part.shift;
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
