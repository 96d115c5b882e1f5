// Sums of gamma variables whose number is Poisson.
#pragma once

namespace galvi {

/// log p(y) of a sum Y of J ~ Poisson(rate) gamma variables of shape a each, at the scale for which a J of
/// `rate` would give y itself, and its derivative in the rate.   y > 0
struct CompoundPoissonDensity {
  CompoundPoissonDensity(double y, double rate, double shape);
  double log_value, slope;
};

/// P(Y <= y) where the gamma variables have scale 1.   y >= 0
double compound_poisson_cdf(double y, double rate, double shape);

}  // namespace galvi
