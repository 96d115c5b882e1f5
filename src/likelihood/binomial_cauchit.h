// Binomial counts, cauchit link.
#pragma once

#include <cmath>

#include "likelihood/binomial.h"
#include "numeric/special_functions.h"

namespace galvi {

/// P(success) = 1 / 2 + atan(eta) / pi: improbable responses count little. Not log-concave.
class BinomialCauchit final : public Binomial {
 public:
  BinomialCauchit() : Binomial(cauchy()) {}

 protected:
  double link(double success, double failure) const override {
    return std::tan(0.5 * pi * (success - failure));
  }
};

}  // namespace galvi
