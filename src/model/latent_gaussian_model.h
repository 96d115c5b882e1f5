// All that an inference algorithm sees: prior (behind its solvers), likelihood and expectation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/posterior.h"
#include "rows/row_block.h"

namespace galvi {

/// How far a point is from the optimum, in nats.
struct Stationarity {
  double certificate;   // upper bound on how much the bound of q can still rise; NaN where there is none
  double norm;          // natural-gradient norm: its square is twice the increase that a Newton step predicts
  double rounding = 0;  // rounding error of the computed bound
  /// Upper bound on the optimum less the computed bound.
  double gap() const { return certificate + rounding; }
  /// What a stopping rule compares with the tolerance. It leaves out rounding, which no step can reduce.
  double measure() const { return std::isnan(certificate) ? 0.5 * norm * norm : certificate; }
};

/// One linear predictor: a prior, which the classes of a response may share, and the solver of its posterior.
struct Predictor {
  std::shared_ptr<Prior> prior;
  std::unique_ptr<Solver> solver;
  Index design = 0;  // which of the model's designs it uses
};

class RowSource;
struct Remembered;

class LatentGaussianModel {
 public:
  /// predictors: K. A likelihood that is averaged over c (likelihood/averaged.h) receives it, and posteriors' and prior
  /// variances are without it. Throws std::invalid_argument if sizes disagree.
  LatentGaussianModel(Context& context, RowBlock rows, std::unique_ptr<Likelihood> likelihood,
                      std::unique_ptr<Expectation> expectation, std::vector<Predictor> predictors);

  Context& context() const { return context_; }
  /// The rows in memory, and their number.
  const RowBlock& block() const { return rows_; }
  Index rows() const { return rows_.size(); }
  /// The source of all rows where they are not in memory (rows() is then empty); else null.
  RowSource* source() const { return source_.get(); }
  void set_source(std::shared_ptr<RowSource> source) { source_ = std::move(source); }
  /// What remains of observations that were seen before; null if there were none.
  const Remembered* remembered() const { return remembered_.get(); }
  void set_remembered(std::shared_ptr<const Remembered> remembered) { remembered_ = std::move(remembered); }
  /// Whether all observations are in memory.
  bool has_all_rows() const { return !source_ && !remembered_; }
  /// How many of the last rows in memory are no data but priors of coefficients (likelihood/coefficient_priors.h).
  Index prior_rows() const { return prior_rows_; }
  void set_prior_rows(Index number) { prior_rows_ = number; }
  /// The number of observations, in memory or not.
  Index observations() const { return observations_; }
  void set_observations(Index number) { observations_ = number; }
  Index latents() const { return static_cast<Index>(predictors_.size()); }
  const Data& data() const { return rows_.data; }
  const Likelihood& likelihood() const { return *likelihood_; }
  const Expectation& expectation() const { return *expectation_; }
  const Predictor& predictor(Index k) const { return predictors_[k]; }
  /// The distinct priors of the predictors, and which of them predictor k has.
  struct PriorOfDesign {
    std::shared_ptr<Prior> prior;
    Index design;
  };
  const std::vector<PriorOfDesign>& priors() const { return priors_; }
  Index prior_index(Index k) const { return prior_index_[k]; }
  /// The hyperparameters of the last update() on the natural scale, and their number.
  const Vector& hyper() const { return hyper_; }
  Index hypers() const { return hyper_.size(); }
  Solver& solver(Index k) { return *predictors_[k].solver; }
  const Solver& solver(Index k) const { return *predictors_[k].solver; }
  /// Whether all predictors' solvers have a capability: all(&Solver::can_sweep).
  bool all(bool (Solver::*ability)() const) const;
  /// Whether sums over rows determine q (global/contribution.h): every predictor's posterior is a Gaussian
  /// over a short latent vector, and the expectation is a function with these derivatives.
  bool sums_suffice() const;
  /// The length of the longest z, and whether every z is as long as the data.
  Index latent_dimension() const;
  bool full() const;

  /// A product by the solver (apply_prior and the like) for every latent.   x: N x K
  Matrix product(Vector (Solver::*verb)(const Vector&) const, const Matrix& x) const;

  /// Passes the hyperparameter table (natural scale) to every part.
  void update(const ConstVectorRef& hyper);
  /// Passes it to the likelihood alone; call update() before asking for a posterior again.
  void update_likelihood(const ConstVectorRef& hyper) { likelihood_->update(hyper); }
  const Matrix& prior_mean() const { return prior_mean_; }            // N x K, offset included
  const Matrix& prior_variances() const;                              // N x K
  /// The smallest lambda that solvers receive where it must be positive.   N x K
  Matrix lambda_floor() const;

  /// Var eta, with what the likelihood is averaged over.   N x K
  Matrix whole_variance(const Posterior& posterior) const;

  bool one_optimum() const { return expectation_->one_optimum(*likelihood_); }
  Index null_dimension() const;

  /// E log p at any marginals of eta.
  void expect(const Matrix& mean, const Matrix& variance, int order, Expectations& out);
  /// The posterior of these sites. Empty if there is none or its bound is not finite.
  std::optional<SitePosterior> at_sites(const Sites& sites, int order);
  /// The posterior with the covariance of these lambda and the mean of `current`.
  std::optional<SitePosterior> at_covariance(const Matrix& lambda, const SitePosterior& current, int order);
  /// The posterior of (alpha, lambda), with the mean C alpha of f, for algorithms that move alpha. Under a
  /// wide prior alpha determines the mean poorly.
  std::optional<SitePosterior> at_alpha(const Matrix& lambda, const Matrix& alpha, int order);
  /// The posterior with the covariance of `current`, at which the solvers are factorised, and the mean V b.
  std::optional<SitePosterior> move_mean(const SitePosterior& current, const Matrix& b, int order);
  /// Factorises the solvers at this posterior again.
  void restore(const SitePosterior& posterior);
  void restore(const SumsPosterior& posterior);
  void restore(const Posterior& posterior) {
    posterior.visit([this](const auto& q) { restore(q); });
  }

  /// The sites after a natural-gradient step of size one: lambda = -2 dE/dv, b = dE/dm + lambda f.
  Sites natural_target(const SitePosterior& posterior) const;
  /// The distance to the optimum of the posterior at which the solvers are factorised. If not `certified`, without a
  /// certificate, and the norm may be an estimate.
  Stationarity stationarity(const SitePosterior& posterior, bool certified = true);
  /// Whether such estimates are cheaper than certificates and much nearer.
  bool estimates_distance() const { return all(&Solver::estimates_distance); }
  /// d bound / d hyper (natural scale) at that posterior. `optimal`: q is the best for these hyperparameters.
  Vector gradient(const SitePosterior& posterior, Index hypers, bool optimal);

 private:
  /// b: of sites whose mean will be needed, or null.
  bool factorise(const Matrix& lambda, const Matrix* b = nullptr);
  /// For latent k at the solvers' factorisation.
  Vector marginal_variances(Index k) const;
  /// d bound / dc of an averaged likelihood; slope = d value / dm - dE/dm.
  Vector slope_in_spread(const SitePosterior& posterior, const Vector& slope) const;
  /// An empty posterior of the right size; then the parts of latent k, its covariance at the solvers'
  /// factorisation, and what follows from all of them.
  SitePosterior blank() const;
  void set_mean(Index k, const SiteMean& site_mean, SitePosterior& posterior) const;
  void add_covariance(Index k, SitePosterior& posterior) const;
  std::optional<SitePosterior> finish(SitePosterior posterior, int order);
  double rounding(const SitePosterior& posterior) const;
  bool is_possible(const SitePosterior& posterior) const;
  Vector gradient_through_mean(const SitePosterior& posterior, const Matrix& u, Index hypers);

  Context& context_;
  RowBlock rows_;
  std::shared_ptr<RowSource> source_;
  std::shared_ptr<const Remembered> remembered_;
  Index observations_;
  Index prior_rows_ = 0;
  std::unique_ptr<Likelihood> likelihood_;
  std::unique_ptr<Expectation> expectation_;
  std::vector<Predictor> predictors_;
  std::vector<PriorOfDesign> priors_;
  std::vector<Index> prior_index_;
  Vector hyper_;
  Matrix prior_mean_;
  mutable Matrix prior_variances_;  // computed when first asked for
  Averaged* averaged_;  // the likelihood, if it is averaged over c; else null
  Matrix factorised_;  // lambda of the last factorisation
};

}  // namespace galvi
