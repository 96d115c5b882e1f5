// W = I: the prior covariance of eta is stored as a dense N x N matrix, the posterior covariance as another; or each as a
// root, where that has few columns.
#pragma once

#include "numeric/dense.h"
#include "solver/solver.h"

namespace galvi {

/// Uses B = D + T C T with T = diag(sqrt|lambda|) and D = diag(sign lambda), so that C is never inverted.
/// Rows with negative lambda come last in B, which is then L J L' with J = diag(+1, -1): two Cholesky
/// factorisations, no indefinite one, which fail exactly where there is no posterior. Where lambda is
/// infinite (noise-free observations) T = 1 / sqrt(C_nn) and D = 0.
class DenseKernelSolver final : public Solver {
 public:
  DenseKernelSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design);

  std::string name() const override { return "dense_kernel"; }
  void refresh() override;
  const Vector& prior_mean() const override { return prior_mean_; }
  const Vector& prior_variances() const override { return prior_variances_; }
  const Vector& extra_variances() const override { return none_; }
  Index latent_dimension() const override { return rows_; }
  bool cheap_products() const override { return true; }
  bool predicts_by_subtraction() const override { return true; }

  bool factorise(const Vector& lambda) override;
  double log_det() const override { return log_det_; }
  const Vector& marginal_variances() const override { return variances_; }
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
  double rounding() const override;
  double jitter() const override { return jitter_; }

 private:
  /// What there is of the posterior: nothing, or in the second matrix L of B = L J L', B^-1 or V, or H of V = H H'.
  enum class Content { nothing, factor, inverse, covariance, root };

  void find_root();
  void build_prior();
  bool root_serves(const Vector& lambda) const;
  bool factorise_by_root();
  void store_covariance();
  void scale(const Vector& lambda);
  bool factor_scaled(const Matrix& C, MatrixRef B);
  bool factor_with_jitter();
  void forget_posterior();
  bool by_root() const { return posterior_root_.cols() > 0; }
  Matrix scaled_columns(const std::vector<Index>& rows) const;
  Matrix precision_product(const Matrix& X) const;
  double prior_form(const Vector& d) const;
  void refine(const SolverState& state, std::vector<Coefficients>& coefficients);
  double product_rounding(const Vector& alpha) const;
  void gradient_by_root(const SiteGradient& site, const Vector& u, VectorRef hyper) const;
  void posterior_precision_tile(Index row0, Index col0, MatrixRef tile) const;
  Matrix whiten(const Matrix& factor, Matrix K) const;

  // Since refresh(): a root of C has been looked for, and C has been needed itself.
  bool searched_ = false, built_ = false;
  std::vector<LowRank> roots_;  // of the terms, if products with them are cheaper than a factorisation
  Matrix root_;                 // R, these side by side, or empty.   N x rank
  double left_out_ = 0;         // variance that R R' lacks, at most
  Matrix C_;                    // both triangles
  Vector prior_mean_, prior_variances_, none_;
  double jitter_ = 0;

  Matrix work_;  // see Content; lower triangle
  Matrix posterior_root_;  // H, while V = H H'; else empty.   N x rank
  Matrix precision_chol_;  // L of I + R' Lambda R = L L' then
  Content content_ = Content::nothing;
  Vector scale_;              // T
  Vector diagonal_;           // D
  std::vector<Index> order_;  // row of B -> row of the data; non-negative lambda first
  Index positive_ = 0;
  double log_det_ = 0;
  Vector variances_;
};

}  // namespace galvi
