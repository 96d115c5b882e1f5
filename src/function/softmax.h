// Which latent values the classes of a softmax have.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// log p(y | eta) = eta_y - log sum_c exp(eta_c), where eta of the `reference` class is 0 (K = classes - 1)
/// or, for reference = -1, every class has its own latent value (K = classes).
struct Softmax {
  Index classes;
  Index reference;
  Index latents() const { return reference < 0 ? classes : classes - 1; }
  /// -1 for the reference.
  Index latent_of(Index c) const { return c == reference ? -1 : reference >= 0 && c > reference ? c - 1 : c; }
};

}  // namespace galvi
