// Log densities that are weighted sums of one standard function.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// log p(y | eta) = constant + linear eta_0 + quadratic (eta_0 - centre)^2
///                  + sum_j weight_j f_j(coefficient_j eta_{latent_j} + shift_j),
/// with f_j the likelihood's standard function or, in parts that are `exponential`, log_gumbel(), whose mean
/// has a closed form. Only means that are taken inside of others have a quadratic term. signed_weights() says
/// whether weights may be negative.
struct Composition {
  struct Part {
    Index latent;
    double weight, coefficient, shift;
    bool exponential;
  };
  double constant = 0.0, linear = 0.0, quadratic = 0.0, centre = 0.0;
  std::vector<Part> parts;

  void clear() {
    constant = linear = quadratic = centre = 0.0;
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
  double constant = 1.0, linear = 0.0, quadratic = 0.0, centre = 0.0;
  std::vector<double> weight, coefficient, shift;  // one per part
};

}  // namespace galvi
