// What a solver with a short latent vector offers besides sites.
#pragma once

#include "solver/latent_posterior.h"

namespace galvi {

class GlobalForm {
 public:
  virtual ~GlobalForm() = default;
  /// Takes over q, found from sums over rows, as if factorise() and posterior_mean() had found it from sites.
  virtual void adopt(const LatentPosterior& q) = 0;
};

}  // namespace galvi
