// The log density of one datum as a sum of one function, made for expectations of it.
#pragma once

#include "likelihood/composed.h"

namespace galvi {

/// What is asked of a likelihood beside them is asked of the one whose datum this is.
class DatumSum : public Composed {
 public:
  using Composed::Composed;
  bool log_concave() const override { return true; }
  double starting_eta(const Datum&) const override { return 0.0; }
  double conditional_mean(const Datum&, const double*) const override { return 0.0; }
  double conditional_variance(const Datum&, const double*) const override { return 0.0; }
  double conditional_cdf(const Datum&, const double*) const override { return 1.0; }
  bool discrete() const override { return false; }
  Support support(const Datum&) const override { return {-infinity, infinity}; }
};

}  // namespace galvi
