// Binomial counts, logit link.
#pragma once

#include "likelihood/binomial.h"

namespace galvi {

class BinomialLogit final : public Binomial {
 public:
  BinomialLogit() : Binomial(log_sigmoid()) {}
  // The logit of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return std::log((datum.y + 0.5) / (datum.size - datum.y + 0.5));
  }
};

}  // namespace galvi
