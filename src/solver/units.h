// Factors alone: no row joins two units, and A has a d x d block for each unit. Everything is a loop over
// units, nothing is longer than the rows, and the certificate is exact and cheap: with D = W' diag(d) W of a
// unit's rows, d' (C o V) d = tr(D D S) and d' (V o V) d = tr(D S D S).
#pragma once

#include "prior/factors_term.h"
#include "solver/solver.h"

namespace galvi {

class UnitsSolver final : public Solver {
 public:
  UnitsSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design);

  std::string name() const override { return "units"; }
  std::string latent_words() const override { return "a few factors"; }
  void refresh() override;
  const Vector& prior_mean() const override { return prior_mean_; }
  const Vector& prior_variances() const override { return prior_variances_; }
  const Vector& extra_variances() const override { return none_; }
  Index latent_dimension() const override { return term_.units() * d_; }
  bool cheap_products() const override { return true; }
  bool can_whiten() const override { return latent_dimension() <= most_dense; }

  bool factorise(const Vector& lambda) override;
  double log_det() const override { return log_det_; }
  const Vector& marginal_variances() const override { return variances_; }
  SiteMean posterior_mean(const Vector& b) override;
  Vector apply_prior(const Vector& x) const override;
  Vector apply_covariance(const Vector& x) const override;
  Vector apply_squared_covariance(const Vector& x) const override;
  Distance distance(const Vector& r, const Vector& d) const override;
  Matrix covariance(const std::vector<Index>& rows) const override;
  void sweep(const SiteChange& change) override;
  Matrix whitened_design() const override;
  UnitMoments unit_moments(Index t, const Vector& b) override;
  void gradient(const SiteGradient& site, VectorRef hyper) const override;
  std::vector<Coefficients> coefficients(const SolverState&) override { return {}; }
  Conditional conditional(const SolverState& state, const DesignRows& others,
                          const ConditionalRequest& request) override;
  double row_work() const override { return static_cast<double>(d_ * d_); }
  Matrix draw(const SolverState& state, const DesignRows& others, Index count) override;
  double rounding() const override;

 private:
  static constexpr Index most_dense = 2000;

  /// The rows of a unit, and their loadings.
  struct Unit {
    Index number;
    const Index* rows;
    Matrix W;  // d x n
    Index size() const { return W.cols(); }
    Vector of(const Vector& x) const;               // x at its rows
    void put(const Vector& from, Vector& to) const;  // to at its rows = from
  };
  /// Calls body(unit) for every unit with rows, on threads.
  void for_units(double row_flops, const std::function<void(const Unit&)>& body) const;
  /// Sets out at each unit's rows to W' f(unit).
  Vector expand(double row_flops, const std::function<Vector(const Unit&)>& f) const;
  /// The sum of f over units, in order.
  double sum(double row_flops, const std::function<double(const Unit&)>& f) const;
  Eigen::Map<const Matrix> covariance_of(Index unit) const { return {covariance_.col(unit).data(), d_, d_}; }
  Matrix means(const Vector& b) const;  // d x U
  /// Sets S and the means to those of a kept state.
  void stand_at(const SolverState& state);

  const FactorsTerm& term_;
  const TermRows& seen_;
  Index d_;
  std::vector<Index> order_, first_;  // rows by unit, and where each unit starts
  Vector prior_mean_, prior_variances_, none_;
  Matrix covariance_;  // S, d^2 x U
  Vector variances_;
  double log_det_ = 0;
  bool factorised_ = false;
  Vector kept_b_;      // of the state whose means are kept
  Matrix kept_means_;
};

}  // namespace galvi
