// Coefficients in coordinates in which they are about standard normal given hyperparameters. Their prior may change with
// these by orders of magnitude: with few groups the sd of an intercept is half of that of the groups, a funnel in which no
// one scale is right.
#pragma once

#include <optional>

#include "fit/unknowns.h"

namespace galvi {

/// Where coordinates u are, as long as the axes live.
struct ConditionalPlace {
  Vector centre;                             // L
  const Matrix* root;                        // L x L, at the mode
  std::optional<Eigen::LLT<Matrix>> factor;  // of the precision here in coordinates of the mode; none for the identity
  double log_scale;                          // log |det(z in u)|, beside that at the mode

  Vector at(Vector u) const {
    if (factor) factor->matrixU().solveInPlace(u);
    return centre + *root * u;
  }
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
