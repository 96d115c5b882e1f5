// Where a function of eta has singularities, and how fast it grows.
#pragma once

#include <algorithm>

#include "numeric/types.h"

namespace galvi {

/// Where a function f is analytic and how it grows there, which determines the nodes of quadrature: for
/// eta = x + i y with |y| < width
///   |f(eta)| <= polynomial(|eta|) exp(growth |x| + oscillation |y|).
/// Quadrature moves its line of integration into this strip, where a function that oscillates on the real
/// line is large: cos(eta) has no singularity and does not grow on the real line, but has oscillation 1. The
/// rate is that of the fastest wave, 3 for cos(3 eta), whatever its amplitude.
struct Smoothness {
  double width;   // to the nearest singularity, or to where f grows faster; infinite if nowhere, 0 at a kink
  double growth;  // exp(c eta), or what behaves so in a tail: c
  double centre = 0.0;  // the singularities' real part lies within centre +- spread; infinite if f is periodic
  double spread = 0.0;
  double oscillation = 0.0;

  /// The distance of a singularity that has derivatives at least as large: those of cos(c eta), c^k, are no
  /// larger than (k - 1)! / d^k with d = 3.5 / c for the orders k >= 10 on which errors of rules depend.
  double distance() const { return oscillation > 0.0 ? std::min(width, 3.5 / oscillation) : width; }
};

}  // namespace galvi
