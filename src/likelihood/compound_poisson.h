// Sums of gamma variables whose number is Poisson.
#pragma once

namespace galvi {

/// log p(y) of a sum Y of J ~ Poisson(rate) gamma variables of shape a each, at the scale for which a J of
/// `rate` would give y itself, and its derivatives in the rate and the shape.   y > 0
struct CompoundPoissonDensity {
  enum class Slopes { rate, both };  // that in the shape takes as long as the value
  CompoundPoissonDensity(double y, double rate, double shape, Slopes slopes = Slopes::rate);
  double log_value, rate_slope, shape_slope = 0.0;
};

/// P(Y <= y) where the gamma variables have scale 1.   y >= 0
double compound_poisson_cdf(double y, double rate, double shape);

}  // namespace galvi
