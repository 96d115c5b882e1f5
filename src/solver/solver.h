// The linear algebra of one latent Gaussian vector, in one place. Algorithms store no matrices of their own:
// they move sites (lambda, b) and ask the solver what follows for eta = prior mean + W (z - mu).
//
//   C = W Sigma W'                       prior covariance of eta given through z  (N x N, may not be stored)
//   A = Sigma^-1 + W' diag(lambda) W     posterior precision of z
//   V = W A^-1 W'                        posterior covariance of eta through z
//   c                                    variance of eta given z (zero except in sparse Gaussian processes)
//
// A site n stands for exp(b_n f - lambda_n f^2 / 2) with f = eta - prior mean, so that the posterior of f has
// mean V b and covariance V + diag(c), and alpha = b - lambda mean gives mean = C alpha.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "prior/prior.h"

namespace galvi {

/// Mean of f = eta - prior mean and the alpha that gives it: mean = C alpha.   N each.
struct SiteMean {
  Vector mean;
  Vector alpha;
  /// alpha' C alpha = u' Sigma^-1 u, with u the mean of z less mu, and its rounding error. Where sites are
  /// precise, alpha is the small difference of large numbers: solvers that know u compute it from u.
  double squared_norm = 0;
  double rounding = 0;

  /// The part of KL(q || prior) that is due to the mean.
  double kl() const { return 0.5 * squared_norm; }
};

/// How the bound changes with fixed sites: the input of `gradient`. At the optimum of q, d_mean = alpha and
/// d_variance = -lambda / 2; `optimal` then skips the terms that vanish.
struct SiteGradient {
  const Vector& b;
  const Vector& alpha;
  const Vector& mean;        // of f
  const Vector& d_mean;      // dE/dm
  const Vector& d_variance;  // dE/dv
  bool optimal;
  const Vector* d_extra = nullptr;  // d bound / dc where c enters other than through v
};

/// The posterior of coefficients of one columns term.
struct Coefficients {
  std::string label;
  Vector mean;        // q
  Matrix covariance;  // q x q
};

/// What is kept of a posterior for predictions. The sites are always kept. The dense solver adds a factor if
/// asked; the projected one the mean and factor of its short latent vector.
struct SolverState {
  Vector alpha, lambda;
  Vector b;            // alpha + lambda mean, or empty
  Vector latent_mean;  // L
  Matrix latent_chol;  // L x L, covariance of z = chol chol'
  Matrix factor;       // N x N or empty
};

/// The distance of a point from the optimum, in nats.
struct Distance {
  /// [ r' C r + d' (C o V) d ] / 2: an upper bound on the distance where the bound is strongly concave in the
  /// whitened mean and factor of q (ARCHITECTURE.md, "Certificate"). Infinite with a null space.
  double gap_bound;
  /// r' V r + d' (V o V) d / 2: the squared natural-gradient norm.
  double squared_norm;
};

/// Predictions at new rows, through z and without the offset.
struct Conditional {
  Vector mean;                      // N*
  Vector variance;                  // N*, if requested
  Matrix term_mean, term_variance;  // N* x T, if requested
  Matrix covariance;                // N* x N*, if requested
};
struct ConditionalRequest {
  bool variance = true;  // without it no factorisation is needed
  bool terms = false;
  bool covariance = false;
};

/// The posterior of the units of a factors term (prior/factors_term.h).
struct UnitMoments {
  Matrix mean;        // d x U
  Matrix covariance;  // d^2 x U, a d x d block for each unit
  Matrix cross;       // d x N: covariance of each row's unit with the row's f
};

class GlobalForm;

using SiteChange = std::function<double(Index n, double variance)>;

class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::string name() const = 0;
  Index rows() const { return rows_; }

  /// Call after the hyperparameters of the prior have changed.
  virtual void refresh() = 0;
  /// W mu.   N
  virtual const Vector& prior_mean() const = 0;
  /// diag(C) + c; infinite where the prior is flat.   N
  virtual const Vector& prior_variances() const = 0;
  /// c.   N, or empty if it is zero.
  virtual const Vector& extra_variances() const = 0;
  /// Dimension of the directions of z with a flat prior.
  virtual Index null_dimension() const { return 0; }
  /// Length of z (N for a full Gaussian process, whatever is beside it).
  virtual Index latent_dimension() const = 0;
  /// Whether products with C, V and V o V are cheap once factorised, because these are stored as matrices or
  /// the rows are few.
  virtual bool cheap_products() const = 0;
  /// Whether variances at new rows are computed as prior variances less what the data explain, and lose the
  /// digits that the two share.
  virtual bool predicts_by_subtraction() const { return false; }
  /// Whether sweep() and whitened_design() are available.
  virtual bool can_sweep() const { return true; }
  virtual bool can_whiten() const { return true; }

  /// Prepares A for these sites. False if A is not positive definite (possible with negative lambda only).
  virtual bool factorise(const Vector& lambda) = 0;
  /// The same where posterior_mean(b) and marginal_variances() are needed next, which may save passes over
  /// the rows.
  virtual bool factorise_for(const Vector& lambda, const Vector& /*b*/) { return factorise(lambda); }
  /// log|Sigma A|, with unit scale in flat directions.
  virtual double log_det() const = 0;
  /// diag(V) + c.   N
  virtual const Vector& marginal_variances() const = 0;
  virtual SiteMean posterior_mean(const Vector& b) = 0;
  /// KL(q || prior) for the factorised lambda and a mean = C alpha.
  double prior_kl(const SiteMean& site_mean) const { return covariance_kl() + site_mean.kl(); }
  /// The part of it that is due to the covariance, for the factorised lambda. Non-negative up to rounding and
  /// the unit scale of flat directions.
  double covariance_kl() const;

  /// Exact inference for Gaussian observations: r = y - prior mean with precisions lambda (0 and infinite
  /// allowed where the solver supports them). Returns the posterior mean and log N(r | 0, C + diag(1 /
  /// lambda)).
  virtual SiteMean condition(const Vector& lambda, const Vector& r, double& log_evidence);

  virtual Vector apply_prior(const Vector& x) const = 0;               // C x
  virtual Vector apply_covariance(const Vector& x) const = 0;          // V x
  virtual Vector apply_squared_covariance(const Vector& x) const = 0;  // (V o V) x
  /// The distance of a point with gradient residuals r = dE/dm - alpha and d = lambda + 2 dE/dv.
  virtual Distance distance(const Vector& r, const Vector& d) const = 0;
  /// Whether distance() is only a bound, and estimate_distance() is near the exact expressions and cheaper.
  virtual bool estimates_distance() const { return false; }
  virtual Distance estimate_distance(const Vector& r, const Vector& d) const { return distance(r, d); }
  /// Columns of V.   N x rows.size()
  virtual Matrix covariance(const std::vector<Index>& rows) const = 0;
  /// Visits the sites one after the other, in the order that suits the solver, lambda_n += change(n, v_n) with v_n
  /// the current variance of eta_n; everything else follows each change.
  virtual void sweep(const SiteChange& change) = 0;
  /// W Sigma^(1/2), unit scale in flat directions: f is this times a standard normal vector.   N x L
  virtual Matrix whitened_design() const = 0;
  /// For posteriors that sums over rows determine (solver/global_form.h); null where z is long.
  virtual GlobalForm* global_form() { return nullptr; }
  /// The posterior of the units of term t, which has factors, at the factorised lambda and this b.
  virtual UnitMoments unit_moments(Index t, const Vector& b);
  /// hyper[h] += d bound / dh through the prior's covariance, natural scale.
  virtual void gradient(const SiteGradient& site, VectorRef hyper) const = 0;

  /// The state to keep for the current factorisation and this mean. Default: alpha, lambda and
  /// b = alpha + lambda mean, from which the rest is computed again.
  virtual SolverState state(const SiteMean& site_mean, bool keep_factor);
  virtual std::vector<Coefficients> coefficients(const SolverState& state) = 0;
  /// Predictions at new rows from a kept state.
  virtual Conditional conditional(const SolverState& state, const DesignRows& others,
                                  const ConditionalRequest& request) = 0;
  /// Flops of conditional() per new row.
  virtual double row_work() const { return static_cast<double>(rows_) * static_cast<double>(rows_); }
  /// Joint draws of eta at new rows from a kept state, without the offset but with the part that is
  /// independent between rows (c). Never fails because of rounding. Normals come from the monitor.   N* x
  /// count
  virtual Matrix draw(const SolverState& state, const DesignRows& others, Index count);
  /// The rounding error of covariance_kl(), where it exceeds the last digits.
  virtual double rounding() const { return 0; }
  /// Largest jitter added to a diagonal so far.
  virtual double jitter() const { return 0; }
  /// Whether products with C, V and V o V cost next to nothing beside factorise(), so that an algorithm gains by
  /// exchanging factorisations for them.
  virtual bool favours_products() const { return cheap_products(); }

 protected:
  /// Throws std::invalid_argument if the terms cannot read the rows.
  Solver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design);

  /// For draw(): prior mean + W u + sqrt(c) e at new rows, with draws of the columns' whitened coefficients u and
  /// e white noise.   u: q x count
  Matrix expand_draws(const DesignRows& others, const Matrix& u);

  // For condition() of solvers whose z is too short to interpolate.
  /// factorise() for the precisions of observations. Throws std::domain_error if one of them is infinite.
  void factorise_observations(const Vector& lambda);
  /// The terms that cannot interpolate an observation, in words.
  virtual std::string latent_words() const { return "a short latent vector"; }
  /// log N(r | 0, C + diag(1 / lambda)), given the posterior mean.
  double gaussian_log_evidence(const Vector& r, const SiteMean& site_mean) const;
  [[noreturn]] static void throw_singular();

  Context& context_;
  const std::shared_ptr<Prior> prior_;
  const std::shared_ptr<const DesignRows> design_;  // the rows that are fitted
  const Index rows_;                                // N
  Vector lambda_;                                   // of the last factorise()
};

/// kind: "markov", "dense_kernel", "units", "sparse" or "projected". Throws std::invalid_argument for anything else.
std::unique_ptr<Solver> make_solver(const std::string& kind, Context& context, std::shared_ptr<Prior> prior,
                                    std::shared_ptr<const DesignRows> design);

/// One row of the registry, which R reads as solver_facts().
struct SolverFacts {
  std::string name;
  bool full;  // stores N x N matrices
  bool sums;  // its posterior is that of a short latent vector: sums over rows suffice
};
std::vector<SolverFacts> solver_facts();
/// The solver of a prior with terms of these types.
std::string choose_solver(const std::vector<std::string>& term_types);

}  // namespace galvi
