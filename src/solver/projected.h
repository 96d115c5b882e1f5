// L << N: the data enter through sums over rows, W' Lambda W and W' b, taken chunk by chunk.
#pragma once

#include "solver/dense_columns.h"
#include "solver/global_form.h"
#include "solver/solver.h"

namespace galvi {

/// Works in the whitened coordinates of DenseColumns, with their prior precision P, so that
/// A = P + W~' Lambda W~ is as well conditioned as the problem allows.
class ProjectedSolver final : public Solver, public GlobalForm {
 public:
  ProjectedSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design);

  std::string name() const override { return "projected"; }
  std::string latent_words() const override { return "the columns"; }
  void refresh() override;
  const Vector& prior_mean() const override { return prior_mean_; }
  const Vector& prior_variances() const override;
  const Vector& extra_variances() const override;
  Index null_dimension() const override { return prior_->null_dimension(); }
  Index latent_dimension() const override { return latent_; }
  bool cheap_products() const override {
    return static_cast<double>(rows_) * static_cast<double>(latent_ * latent_) <= max_product_cost;
  }

  bool factorise(const Vector& lambda) override { return factorise_for(lambda, Vector()); }
  bool factorise_for(const Vector& lambda, const Vector& b) override;
  double log_det() const override { return log_det_; }
  const Vector& marginal_variances() const override;
  SiteMean posterior_mean(const Vector& b) override;
  SiteMean condition(const Vector& lambda, const Vector& r, double& log_evidence) override;
  Vector apply_prior(const Vector& x) const override;
  Vector apply_covariance(const Vector& x) const override;
  Vector apply_squared_covariance(const Vector& x) const override;
  Distance distance(const Vector& r, const Vector& d) const override;
  Matrix covariance(const std::vector<Index>& rows) const override;
  void sweep(const SiteChange& change) override;
  Matrix whitened_design() const override;
  void gradient(const SiteGradient& site, VectorRef hyper) const override;
  SolverState state(const SiteMean& site_mean, bool keep_factor) override;
  std::vector<Coefficients> coefficients(const SolverState& state) override;
  Conditional conditional(const SolverState& state, const DesignRows& others,
                          const ConditionalRequest& request) override;

  Matrix draw(const SolverState& state, const DesignRows& others, Index count) override;
  double rounding() const override;

  GlobalForm* global_form() override { return this; }
  void adopt(const LatentPosterior& q) override;

 private:
  /// Flops of a product with V o V, one pass over the rows, that takes about a millisecond.
  static constexpr double max_product_cost = 2e6;
  /// G = d bound / d W~ of a chunk.
  using GradientBody =
      std::function<void(Index group, Index begin, const ConstMatrixRef& chunk, MatrixRef G)>;
  /// hyper[h] += d bound / dh through W~ and c, d_extra = d bound / dc.
  void for_column_gradients(double flops, const Vector& d_extra, VectorRef hyper,
                            const GradientBody& body) const;

  /// Mean and factor of the covariance of the whitened coefficients, from those of the coefficients in a
  /// state.
  struct WhitenedState {
    Vector mean;
    Matrix chol;
  };
  WhitenedState whitened(const SolverState& state) const;

  /// W~' diag(d) W~, both triangles, and W~' x.
  struct SiteSums {
    Matrix cross;
    Vector projected;
  };
  /// d or x may be empty. One pass over the rows computes both.
  SiteSums sums(const Vector& d, const Vector& x, bool fixed = false) const;
  /// The factor by which lambda is that of `observed_`; 0 if it is not a multiple of it.
  double observed_factor(const Vector& lambda) const;
  Matrix observed_crossproduct(double factor) const;  // W~' Lambda W~
  Vector project_sites(const Vector& b) const;        // W~' b, known where b was given to factorise_for()
  Vector solve(const Vector& h) const;                // A^-1 h
  Matrix weighted_crossproduct(const Vector& d) const { return sums(d, Vector()).cross; }
  Vector quadratic_forms(const Matrix& M) const;  // diag(W~ M W~')
  /// Before the threads of a loop that sets variances_: what they read is made, and there is room for what they write.
  void prepare_variances() const;
  /// variances_ of the rows of a chunk.
  void set_variances(Index begin, const ConstMatrixRef& chunk) const;

  DenseColumns columns_;
  Index latent_;
  Vector prior_mean_;
  mutable Vector prior_variances_;  // empty before they are asked for
  mutable Vector extra_variances_;  // empty for zero

  /// X' diag(lambda) X, of fixed columns W~ = X T and observations: a search changes T and the factor of lambda.
  struct {
    Vector lambda;
    Matrix cross;
  } observed_;
  Vector b_, projected_;  // of factorise_for()
  Vector adopted_;        // mean of u where a posterior was adopted; empty where it is of sites
  Matrix A_, inverse_;    // A and A^-1, both triangles; a sweep leaves A_ empty
  Matrix inverse_chol_;   // L^-1 with A = L L', while it is that of inverse_
  double log_det_ = 0;
  mutable Vector variances_;
  mutable bool variances_known_ = false;
};

}  // namespace galvi
