// Coefficients in coordinates in which they are about standard normal given hyperparameters. Their prior may change with
// these by orders of magnitude: with few groups the sd of an intercept is half of that of the groups, a funnel in which no
// one scale is right.
#pragma once

#include <optional>

#include "fit/unknowns.h"

namespace galvi {

/// z = centre + root u
struct ConditionalPlace {
  Vector centre;     // L
  Matrix root;       // L x L
  double log_scale;  // log |det(root)|, beside that at the mode
};

class ConditionalAxes {
 public:
  /// @param mean,root Of the Gaussian of the coefficients at the hyperparameters that the priors have now.   L; L x L
  ConditionalAxes(const Unknowns& unknowns, Vector mean, Matrix root);
  /// That of the same Gaussian likelihood under the priors as they are now; empty where there is none.
  std::optional<ConditionalPlace> place() const;

 private:
  const Unknowns& unknowns_;
  Vector mean_, prior_mean_;
  Matrix root_, precision_;
};

}  // namespace galvi
