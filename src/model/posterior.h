// The state of an algorithm: sites, the Gaussian that follows from them, and its bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "expectation/expectation.h"
#include "solver/latent_posterior.h"
#include "solver/solver.h"

namespace galvi {

/// A posterior of short latent vectors, from which its sites can be recomputed.
struct Asking {
  GlobalPosterior q;
  Vector hyper;   // the hyperparameters at q; if empty, inference starts at q itself and not from its sites
  int order = 1;  // of the expectations' derivatives, on which the last digits depend
};

/// One Gaussian stand-in per observation and latent: exp(b f - lambda f^2 / 2), f = eta - prior mean.   N x K
/// each.
struct Sites {
  Matrix lambda;
  Matrix b;
  /// The posterior that gives these sites, if sums over rows were used. For rows that are not in memory only
  /// this exists.
  std::shared_ptr<const Asking> asking = {};
};

/// Sites that make inference start at q itself.
inline Sites from_here(GlobalPosterior q) {
  return {{}, {}, std::make_shared<const Asking>(Asking{std::move(q), {}})};
}

/// How much a step may lower the merit without counting as a decrease: its rounding error, but never more
/// than what a user would notice.
inline double allowed_fall(double rounding, double merit) {
  return std::min(rounding, 1e-8 * (1 + std::min(std::abs(merit), 1e6)));
}

struct Posterior {
  Sites sites;
  Matrix alpha;     // N x K, C alpha is the mean of f
  Matrix centred;   // N x K, mean of f
  Matrix mean;      // N x K, mean of eta
  Matrix variance;  // N x K
  Expectations expectations;
  double kl = 0;          // KL(q || prior), of which
  double kl_of_mean = 0;  //   alpha' C alpha / 2
  double elbo = 0;
  /// What a step must not lower: the bound or, for an expectation that is not consistent with its
  /// derivatives, the log joint density at the mean.
  double merit = 0;
  /// The highest merit on the way here, so that decreases by rounding do not accumulate.
  double reached = -std::numeric_limits<double>::infinity();
  /// The rounding error of the bound, and the part of it that is due to kl_of_mean.
  double rounding = 0;
  double rounding_of_mean = 0;

  /// The Gaussian of short latent vectors if q was found as one; the sites then follow from it.
  std::shared_ptr<const GlobalPosterior> global;

  SiteMean site_mean(Index k) const { return {centred.col(k), alpha.col(k)}; }
  double slack() const { return allowed_fall(rounding, merit); }
  /// Whether the merit after a step from `before` is no lower, up to rounding.
  bool holds_after(const Posterior& before) {
    reached = std::max(before.reached, before.merit);
    return merit >= reached - before.slack();
  }
};

}  // namespace galvi
