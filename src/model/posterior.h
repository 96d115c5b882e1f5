// Where an algorithm stands: sites, the Gaussian that follows from them, and its bound.
#pragma once

#include "expectation/expectation.h"
#include "solver/solver.h"

namespace galvi {

/// One Gaussian stand-in per observation and latent: exp(b f - lambda f^2 / 2), f = eta - prior mean.   N x K
/// each.
struct Sites {
  Matrix lambda;
  Matrix b;
};

struct Posterior {
  Sites sites;
  Matrix alpha;     // N x K, f's mean = C alpha
  Matrix centred;   // N x K, mean of f
  Matrix mean;      // N x K, mean of eta
  Matrix variance;  // N x K
  Expectations expectations;
  double kl = 0;
  double elbo = 0;
  /// What a step must not lower: the bound; for an expectation that is not consistent with its derivatives,
  /// the log joint density at the mean.
  double merit = 0;
  /// What rounding alone may do to it.
  double rounding = 0;

  SiteMean site_mean(Index k) const {
    return {centred.col(k), alpha.col(k), alpha.col(k).dot(centred.col(k))};
  }
};

}  // namespace galvi
