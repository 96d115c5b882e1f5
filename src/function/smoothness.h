// Where a function of eta has singularities, and how fast it grows.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// How smooth log p is in eta, which determines the nodes of quadrature.
struct Smoothness {
  double width;   // distance from the real line to the nearest singularity: infinite if none, 0 at a kink
  double growth;  // |log p| grows no faster than exp(growth |eta|) times a polynomial
  double centre = 0.0;  // the singularities' real part lies within centre +- spread
  double spread = 0.0;
};

}  // namespace galvi
