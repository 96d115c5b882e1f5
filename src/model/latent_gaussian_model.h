// The only thing an inference algorithm is given: prior (behind its solvers), likelihood and expectation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/posterior.h"
#include "rows/row_block.h"

namespace galvi {

/// How far a point is from the optimum, in nats.
struct Stationarity {
  double certificate;   // q's bound can rise by no more than this; NaN where no such certificate exists
  double norm;          // natural-gradient norm: its square is twice the rise that a Newton step promises
  double rounding = 0;  // what the number that stands for q's bound may be off by
  /// The optimum lies above the number that stands for q's bound by no more than this.
  double gap() const { return certificate + rounding; }
  /// What a stopping rule compares with the tolerance: no step can lower the rounding.
  double measure() const { return std::isnan(certificate) ? 0.5 * norm * norm : certificate; }
};

/// One linear predictor: a prior, which the classes of a response may share, and the solver of its posterior.
struct Predictor {
  std::shared_ptr<Prior> prior;
  std::unique_ptr<Solver> solver;
  Index design = 0;  // which of the model's designs it sees
};

class RowSource;
struct Remembered;

class LatentGaussianModel {
 public:
  /// predictors: K. averaged: c is the likelihood's to average over (expectation/averaged.h), K = 1, and no
  /// part of a variance here. Throws std::invalid_argument if sizes disagree.
  LatentGaussianModel(Context& context, RowBlock rows, std::unique_ptr<Likelihood> likelihood,
                      std::unique_ptr<Expectation> expectation, std::vector<Predictor> predictors,
                      bool averaged = false);

  Context& context() const { return context_; }
  /// The rows in memory, and how many they are.
  const RowBlock& block() const { return rows_; }
  Index rows() const { return rows_.size(); }
  /// Who answers for all rows where they are not in memory; then the rows above are none. Null where they are.
  RowSource* source() const { return source_.get(); }
  void set_source(std::shared_ptr<RowSource> source);
  /// What is left of observations that were seen before; null for nothing.
  const Remembered* remembered() const { return remembered_.get(); }
  void set_remembered(std::shared_ptr<const Remembered> remembered) { remembered_ = std::move(remembered); }
  /// Whether all observations are in memory.
  bool has_all_rows() const { return !source_ && !remembered_; }
  /// How many observations there are, in memory or not.
  Index observations() const { return observations_; }
  void set_observations(Index number) { observations_ = number; }
  Index latents() const { return static_cast<Index>(predictors_.size()); }
  const Data& data() const { return rows_.data; }
  const Likelihood& likelihood() const { return *likelihood_; }
  const Expectation& expectation() const { return *expectation_; }
  const Predictor& predictor(Index k) const { return predictors_[k]; }
  /// The predictors' priors, each once, and which of them is predictor k's.
  struct PriorOfDesign {
    std::shared_ptr<Prior> prior;
    Index design;
  };
  const std::vector<PriorOfDesign>& priors() const { return priors_; }
  Index prior_index(Index k) const { return prior_index_[k]; }
  /// The hyperparameters of the last update(), natural scale, and how many they are.
  const Vector& hyper() const { return hyper_; }
  Index hypers() const { return hyper_.size(); }
  Solver& solver(Index k) { return *predictors_[k].solver; }
  const Solver& solver(Index k) const { return *predictors_[k].solver; }
  /// Whether every predictor's solver can: all(&Solver::can_sweep).
  bool all(bool (Solver::*ability)() const) const;
  /// Sums over rows suffice for q (global/contribution.h): every predictor's posterior is a Gaussian of a
  /// short latent vector, and the expectation a function that has these derivatives.
  bool sums_suffice() const;
  /// The longest z, and whether every one is as long as the data.
  Index latent_dimension() const;
  bool full() const;

  /// A solver's product (apply_prior and its like) for every latent.   x: N x K
  Matrix product(Vector (Solver::*verb)(const Vector&) const, const Matrix& x) const;

  /// Reads the hyperparameter table (natural scale) into every part.
  void update(const ConstVectorRef& hyper);
  /// The same into the likelihood alone; update() must follow before anything is asked of a posterior.
  void update_likelihood(const ConstVectorRef& hyper) { likelihood_->update(hyper); }
  const Matrix& prior_mean() const { return prior_mean_; }            // N x K, offset included
  const Matrix& prior_variances() const;                              // N x K
  /// The smallest lambda that solvers are given where a positive one is needed.   N x K
  Matrix lambda_floor() const;

  bool one_optimum() const { return expectation_->one_optimum(*likelihood_); }
  Index null_dimension() const;

  /// E log p at any marginals.
  void expect(const Matrix& mean, const Matrix& variance, int order, Expectations& out);
  /// The posterior of these sites. Empty where there is none or its bound is not finite.
  std::optional<Posterior> at_sites(const Sites& sites, int order);
  /// With the covariance of these lambda and the mean of `current`.
  std::optional<Posterior> at_covariance(const Matrix& lambda, const Posterior& current, int order);
  /// The posterior of (alpha, lambda), f's mean C alpha: where alpha is a coordinate. Under a wide prior it
  /// says little of the mean.
  std::optional<Posterior> at_alpha(const Matrix& lambda, const Matrix& alpha, int order);
  /// With the covariance of `current`, which the solvers are factorised at, and the mean V b.
  std::optional<Posterior> move_mean(const Posterior& current, const Matrix& b, int order);
  /// Makes the solvers' factorisation that of this posterior again.
  void restore(const Posterior& posterior);

  /// The sites that a natural-gradient step of size one leads to: lambda = -2 dE/dv, b = dE/dm + lambda f.
  Sites natural_target(const Posterior& posterior) const;
  /// Of the posterior that the solvers are factorised at.
  Stationarity stationarity(const Posterior& posterior);
  /// d bound / d hyper (natural scale) at that posterior. `optimal`: q is the best for these hyperparameters.
  Vector gradient(const Posterior& posterior, Index hypers, bool optimal);

 private:
  /// b: of sites whose mean will be wanted, or null.
  bool factorise(const Matrix& lambda, const Matrix* b = nullptr);
  /// Of latent k where the solvers stand.
  Vector marginal_variances(Index k) const;
  /// d bound / dc of an averaged likelihood; slope = d value / dm - dE/dm.
  Vector slope_in_spread(const Posterior& posterior, const Vector& slope) const;
  /// A posterior with nothing in it, of the right size; then latent k's parts, the covariance where the
  /// solvers stand, and what follows from all of them.
  Posterior blank() const;
  void set_mean(Index k, const SiteMean& site_mean, Posterior& posterior) const;
  void add_covariance(Index k, Posterior& posterior) const;
  std::optional<Posterior> finish(Posterior posterior, int order);
  double rounding(const Posterior& posterior) const;
  bool is_possible(const Posterior& posterior) const;
  Vector gradient_through_mean(const Posterior& posterior, const Matrix& u, Index hypers);

  Context& context_;
  RowBlock rows_;
  std::shared_ptr<RowSource> source_;
  std::shared_ptr<const Remembered> remembered_;
  Index observations_;
  std::unique_ptr<Likelihood> likelihood_;
  std::unique_ptr<Expectation> expectation_;
  std::vector<Predictor> predictors_;
  std::vector<PriorOfDesign> priors_;
  std::vector<Index> prior_index_;
  Vector hyper_;
  Matrix prior_mean_;
  mutable Matrix prior_variances_;  // taken when they are asked for
  bool averaged_;
  Matrix factorised_;  // lambda of the last factorisation
};

}  // namespace galvi
