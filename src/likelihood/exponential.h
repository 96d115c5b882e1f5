// Waiting times, log link.
#pragma once

#include "likelihood/gamma_response.h"

namespace galvi {

/// log p(y | eta) = -eta - y exp(-eta), y > 0: mean exp(eta), the gamma density of shape 1.
class Exponential final : public GammaResponse {
 public:
  Exponential() { set_shape(1.0); }
};

}  // namespace galvi
