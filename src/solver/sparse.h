// Sparse fields beside dense columns: z has as many elements as there are nodes, and nothing is ever N x N or
// L x L. One bordered system contains everything:
//
//   M = [A' E; E' G]     A' = Q + kappa sum e_pin e_pin' + W' Lambda W, sparse
//
// The border has the dense columns (fixed effects, inducing points), one unknown per pinned node that takes
// its pin out again, and one Lagrange multiplier per constraint of an intrinsic field. A' is analysed once
// and refactorised; its inverse is computed on the pattern of the factor only (Takahashi's recursions), and
// the border's Schur complement adds a correction of low rank. The prior is the same object with Lambda = 0.
// A field whose null space has a prior of its own (the slope of rw2) supplies it as columns. Rows with
// negative lambda join the border where A' has no factor although the constraints make the posterior proper.
// Distances of more than 200 rows are bounds: d' (C o V) d <= sum d_n^2 C_nn / lambda_n, and Cauchy's. They are
// thousands of times larger than what is left to gain, and C_nn may take a factorisation: while hyperparameters move,
// an estimate of the squared norm decides when inference stops.
//
// dense_columns has all whitened columns by chunks (shared with the projected solver), field_stack all fields
// as one z, bordered_factor is M at one lambda, sparse.cpp has the verbs, sparse_gradient and
// sparse_prediction the rest.
#pragma once

#include <optional>

#include "solver/bordered_factor.h"
#include "solver/solver.h"

namespace galvi {

class SparseSolver final : public Solver {
 public:
  /// What a factor may take: 10 GB with its inverse, and ten minutes or so each time.
  static constexpr FactorSize affordable{6e8, 1e13};

  /// Throws std::length_error, with what to do instead, where the factor would be larger than `most`.
  SparseSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design,
               FactorSize most = affordable);

  std::string name() const override { return "sparse"; }
  std::string latent_words() const override { return "a field"; }
  void refresh() override;
  const Vector& prior_mean() const override { return prior_mean_; }
  const Vector& prior_variances() const override;
  const Vector& extra_variances() const override { return extra_variances_; }
  Index null_dimension() const override { return prior_->null_dimension(); }
  Index latent_dimension() const override { return fields_.size() + columns_.size(); }
  bool cheap_products() const override { return rows_ <= most_dense; }
  bool can_sweep() const override { return false; }
  bool can_whiten() const override { return latent_dimension() <= most_dense; }

  bool factorise(const Vector& lambda) override;
  double log_det() const override;
  double rounding() const override;
  double jitter() const override { return fields_.jitter(); }
  double row_work() const override;
  const Vector& marginal_variances() const override;
  SiteMean posterior_mean(const Vector& b) override;
  Vector apply_prior(const Vector& x) const override;
  Vector apply_covariance(const Vector& x) const override;
  Vector apply_squared_covariance(const Vector& x) const override;
  /// For more than a few rows these are upper bounds of both, which vanish with them at the optimum.
  Distance distance(const Vector& r, const Vector& d) const override;
  bool estimates_distance() const override { return rows_ > most_dense_each_iteration; }
  /// Traces by products with fixed random signs (Hutchinson 1990).
  Distance estimate_distance(const Vector& r, const Vector& d) const override;
  Matrix covariance(const std::vector<Index>& rows) const override;
  void sweep(const SiteChange& change) override;
  Matrix whitened_design() const override;
  UnitMoments unit_moments(Index t, const Vector& b) override;
  void gradient(const SiteGradient& site, VectorRef hyper) const override;
  std::vector<Coefficients> coefficients(const SolverState& state) override;
  Conditional conditional(const SolverState& state, const DesignRows& others,
                          const ConditionalRequest& request) override;
  Matrix draw(const SolverState& state, const DesignRows& others, Index count) override;

 private:
  // The largest number of rows (or unknowns) for which a square matrix is affordable: if it is made once, and
  // if every iteration makes one.
  static constexpr Index most_dense = 2000, most_dense_each_iteration = 200;

  /// Columns per solve.
  static constexpr Index block_columns = 64;

  /// The unknowns: z of the fields and the whitened coefficients of the columns.
  struct Latent {
    Matrix z, beta;  // L x k, q x k
  };

  bool too_large(const FactorSize& size) const { return size.entries > most_.entries || size.work > most_.work; }
  BorderedFactor factor_at(const Vector& lambda) const;
  void use(const Vector& lambda);
  Latent project(const ConstMatrixRef& X) const;  // W' X
  Matrix expand(const Latent& u) const;           // W u
  Latent solve(Latent u) const;                   // A^-1 u under the constraints
  Matrix prior_times(const ConstMatrixRef& X) const;  // C X
  /// A^-1 W' b, refined, and W times it where that is asked for. The last one is kept: the gradient and each block of
  /// new rows come with the same b.
  const Latent& latent_mean(const Vector& b, Vector* of_rows = nullptr) const;
  Vector variances(const BorderedFactor& factor) const;  // diag V
  const Matrix& dense_covariance() const;         // V
  const Matrix& dense_prior() const;              // C
  /// visit(share, factor) for factors at lambdas nearby, such that sum share g(factor) is the derivative of
  /// g(lambda + e direction) at e = 0.
  void differentiate(const Vector& direction,
                     const std::function<void(double, const BorderedFactor&)>& visit) const;
  // For gradient():
  /// cov(z) on the fields' pattern.
  Vector node_covariances(const BorderedFactor& factor) const;
  /// For rows from `begin` on: G += d bound / dW_d and g += d bound / dc.
  using RowGradients = std::function<void(Index begin, MatrixRef G, VectorRef g)>;
  /// sums += the gradient through d bound / dW_d = 2 diag(weight) W K and the optional `add_more`.
  void add_column_gradient(const BorderedFactor& factor, const Vector& weight, const RowGradients& add_more,
                           ColumnGradients& sums) const;

  /// Adds to sums those of a term whose rows are products, with d bound / dW = 2 diag(weight) cov(f, z) + more_n u' of
  /// each row, where more_n(n, node) gives the latter.
  void add_separable_gradient(const BorderedFactor& factor, Index t, const Vector& weight,
                              const std::function<double(Index n, Index node)>& more, SeparableGradient& sums) const;

  /// The nodes of term t that row n touches, in order.
  std::vector<Index> nodes_of(Index t, Index n) const;
  /// cov(f_n, z) at these nodes, for every row; zero behind the last of a row with fewer.   N x h
  Matrix row_covariances(const BorderedFactor& factor, Index t) const;

  struct KeptMean {
    Vector b;
    Latent mean;
  };
  // For conditional():
  /// A term's part of new rows: W_s in its own position, its own columns of W_d, and its c.
  struct TermDesign {
    SparseRows fields;
    Matrix columns;
    Vector extra;
  };
  const Latent& mean_at(const SolverState& state);
  TermDesign term_design(const DesignRows& others, Index t) const;
  /// diag(W_s A^-1 W_s') of some rows whose nodes are not all neighbours on the pattern.
  Vector forms_off_pattern(const SparseRows& W, const std::vector<Index>& rows) const;
  /// Var(w'u) for rows w, of all terms or of term t.
  Vector variances_of(const DesignRows& others, Index t, const SparseRows& W, const Matrix& dense) const;

  const FactorSize most_;
  FieldStack fields_;
  DenseColumns columns_;
  SparseCholesky symbolic_;
  Vector prior_mean_, extra_variances_;
  mutable Vector prior_variances_;  // without the fields' until asked for
  mutable bool with_fields_ = false;

  std::optional<BorderedFactor> factor_;
  mutable Vector variances_;
  mutable Matrix covariance_, prior_covariance_;  // empty until asked for
  mutable std::optional<KeptMean> kept_mean_;  // of the last latent_mean()
};

}  // namespace galvi
