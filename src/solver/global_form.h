// What a solver whose latent vector is short can do beside sites.
#pragma once

#include "global/latent_posterior.h"

namespace galvi {

class GlobalForm {
 public:
  virtual ~GlobalForm() = default;
  /// Stands where it would after factorise() and posterior_mean() of sites that have this posterior.
  virtual void adopt(const LatentPosterior& q) = 0;
};

}  // namespace galvi
