// Where an algorithm stands: sites, the Gaussian that follows from them, and its bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "expectation/expectation.h"
#include "global/latent_posterior.h"
#include "solver/solver.h"

namespace galvi {

/// A posterior of short latent vectors, from which the sites that it asks for can be worked out again.
struct Asking {
  GlobalPosterior q;
  Vector hyper;   // the hyperparameters there; empty: inference starts at q itself, not with its sites
  int order = 1;  // of the expectations' derivatives, on which last digits depend
};

/// One Gaussian stand-in per observation and latent: exp(b f - lambda f^2 / 2), f = eta - prior mean.   N x K
/// each.
struct Sites {
  Matrix lambda;
  Matrix b;
  /// Where sums over rows gave them: what asks for them. Of rows that are not in memory there is nothing else.
  std::shared_ptr<const Asking> asking = {};
};

/// Inference starts at q itself.
inline Sites from_here(GlobalPosterior q) {
  return {{}, {}, std::make_shared<const Asking>(Asking{std::move(q), {}})};
}

/// How much a step may lower the merit and still count as not lowering it: what rounding does, but never more
/// than digits that nobody reads.
inline double allowed_fall(double rounding, double merit) {
  return std::min(rounding, 1e-8 * (1 + std::min(std::abs(merit), 1e6)));
}

struct Posterior {
  Sites sites;
  Matrix alpha;     // N x K, f's mean = C alpha
  Matrix centred;   // N x K, mean of f
  Matrix mean;      // N x K, mean of eta
  Matrix variance;  // N x K
  Expectations expectations;
  double kl = 0;          // KL(q || prior), of which
  double kl_of_mean = 0;  //   alpha' C alpha / 2
  double elbo = 0;
  /// What a step must not lower: the bound; for an expectation that is not consistent with its derivatives,
  /// the log joint density at the mean.
  double merit = 0;
  /// The highest merit on the way here, so that falls by rounding do not add up.
  double reached = -std::numeric_limits<double>::infinity();
  /// What rounding alone may have done to the bound, and that part of it which kl_of_mean has.
  double rounding = 0;
  double rounding_of_mean = 0;

  /// Where q was found as a Gaussian of short latent vectors: that. The sites are then those that it asks for.
  std::shared_ptr<const GlobalPosterior> global;

  SiteMean site_mean(Index k) const { return {centred.col(k), alpha.col(k)}; }
  double slack() const { return allowed_fall(rounding, merit); }
  /// Is the merit, after a step from `before`, not lower but for rounding?
  bool holds_after(const Posterior& before) {
    reached = std::max(before.reached, before.merit);
    return merit >= reached - before.slack();
  }
};

}  // namespace galvi
