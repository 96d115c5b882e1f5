// What a solver with a short latent vector offers besides sites.
#pragma once

#include "solver/latent_posterior.h"

namespace galvi {

class GlobalForm {
 public:
  virtual ~GlobalForm() = default;
  /// Puts the solver in the state after factorise() and posterior_mean() of sites with this posterior.
  virtual void adopt(const LatentPosterior& q) = 0;
};

}  // namespace galvi
