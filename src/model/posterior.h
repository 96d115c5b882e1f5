// q as algorithms leave it, of one kind or the other, and where inference starts.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

#include "expectation/expectation.h"
#include "solver/latent_posterior.h"
#include "solver/solver.h"

namespace galvi {

/// One Gaussian stand-in per observation and latent: exp(b f - lambda f^2 / 2), f = eta - prior mean.   N x K
/// each.
struct Sites {
  Matrix lambda;
  Matrix b;
};

/// Sites that follow from a posterior of short latent vectors, by a natural-gradient step of size one. Where rows are
/// not in memory they are computed when they are needed.
struct GivenSites {
  std::shared_ptr<const GlobalPosterior> q;
  Vector hyper;   // the hyperparameters at q
  int order = 1;  // of the expectations' derivatives, on which the last digits depend
  Sites rows;     // those of the rows in memory; empty if rows are elsewhere
};

/// Where inference starts: at the posterior of sites, which keep what they say about the rows when hyperparameters
/// move, or at q itself.
using Start = std::variant<Sites, GivenSites, std::shared_ptr<const GlobalPosterior>>;

inline Start start_at(GlobalPosterior q) { return std::make_shared<const GlobalPosterior>(std::move(q)); }

/// A function for each type that a variant may have.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// The sites of the rows in memory; null where there are none.
inline const Sites* sites_in(const Start& start) {
  if (const GivenSites* given = std::get_if<GivenSites>(&start))
    return given->rows.b.size() > 0 ? &given->rows : nullptr;
  return std::get_if<Sites>(&start);
}

/// Rounding error of a sum: each term has lost its last digits, and what is integrated is good to eleven or
/// twelve digits in practice (1e-9 is what quadrature guarantees).   sums of absolute terms
inline double rounding_of_sums(double integrated, double others) {
  constexpr double digits = 4 * std::numeric_limits<double>::epsilon(), of_expectations = 1e-11;
  return (digits + of_expectations) * integrated + digits * others;
}

/// How much a step may lower the merit without counting as a decrease: its rounding error, but never more
/// than what a user would notice.
inline double allowed_fall(double rounding, double merit) {
  return std::min(rounding, 1e-8 * (1 + std::min(std::abs(merit), 1e6)));
}

/// What both kinds of posterior say about the rows in memory, and the bound.
struct PosteriorOfRows {
  Matrix alpha;     // N x K, C alpha is the mean of f
  Matrix centred;   // N x K, mean of f
  Matrix mean;      // N x K, mean of eta
  Matrix variance;  // N x K
  Expectations expectations;
  double kl = 0;          // KL(q || prior), of which
  double kl_of_mean = 0;  //   alpha' C alpha / 2
  double elbo = 0;
  double rounding = 0;  // the rounding error of the bound

  SiteMean site_mean(Index k) const { return {centred.col(k), alpha.col(k)}; }
};

/// The Gaussian that follows from sites.
struct SitePosterior : PosteriorOfRows {
  Sites sites;
  /// What a step must not lower: the bound or, for an expectation that is not consistent with its
  /// derivatives, the log joint density at the mean.
  double merit = 0;
  /// The highest merit on the way here, so that decreases by rounding do not accumulate.
  double reached = -std::numeric_limits<double>::infinity();
  double rounding_of_mean = 0;  // the part of `rounding` that is due to kl_of_mean

  double slack() const { return allowed_fall(rounding, merit); }
  /// Whether the merit after a step from `before` is no lower, up to rounding.
  bool holds_after(const SitePosterior& before) {
    reached = std::max(before.reached, before.merit);
    return merit >= reached - before.slack();
  }
};

/// The Gaussian of short latent vectors, found from sums over rows: sites.q. Its sites follow from it.
struct SumsPosterior : PosteriorOfRows {
  GivenSites sites;
};

/// Of either kind. What both have is read by ->
class Posterior {
 public:
  Posterior() = default;
  Posterior(SitePosterior q) : kind_(std::move(q)) {}
  Posterior(SumsPosterior q) : kind_(std::move(q)) {}

  const PosteriorOfRows* operator->() const {
    return std::visit([](const PosteriorOfRows& q) { return &q; }, kind_);
  }
  /// The sites of the rows in memory.
  const Sites& sites() const {
    return std::visit(Overloaded{[](const SitePosterior& q) -> const Sites& { return q.sites; },
                                 [](const SumsPosterior& q) -> const Sites& { return q.sites.rows; }},
                      kind_);
  }
  /// To go on from here.
  Start start() const {
    return std::visit([](const auto& q) { return Start(q.sites); }, kind_);
  }
  void drop_expectations() {
    std::visit([](PosteriorOfRows& q) { q.expectations = {}; }, kind_);
  }
  /// Calls f with the posterior as what it is.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), kind_);
  }
  /// Where it is known to be one of sites.
  const SitePosterior& of_sites() const { return std::get<SitePosterior>(kind_); }

 private:
  std::variant<SitePosterior, SumsPosterior> kind_;
};

}  // namespace galvi
