#pragma once

#include "model/latent_gaussian_model.h"

namespace galvi {

/// While this object lives, the whitened latent vectors keep their meaning, so that q can stay fixed as
/// hyperparameters move.
class HeldBasis {
 public:
  explicit HeldBasis(LatentGaussianModel& model) : model_(model) { hold(true); }
  ~HeldBasis() { hold(false); }
  HeldBasis(const HeldBasis&) = delete;
  HeldBasis& operator=(const HeldBasis&) = delete;

 private:
  void hold(bool held) {
    for (const auto& part : model_.priors()) part.prior->hold_basis(held);
  }
  LatentGaussianModel& model_;
};

}  // namespace galvi
