// Processes of one input with a state space, and dense columns and small fields beside them: no N x N matrix, and every
// verb, the exact distance included, in passes over the rows in the order of the input (solver/chain.h).
//
// Where all processes have the same groups, each group is a chain of its own; a process without groups beside one with
// groups, or processes that groups share, make one chain of all rows, in which a process is a block. The whitened
// columns and fields, as columns W too, are the border: with V_0 the posterior covariance of the chains and P their prior precision,
//   T = (I - V_0 Lambda) W,   S = P + W'Lambda T,   V = V_0 + T S^-1 T'.
#pragma once

#include <utility>

#include "solver/centred_chain.h"
#include "solver/dense_columns.h"
#include "solver/field_stack.h"
#include "solver/solver.h"

namespace galvi {

class MarkovSolver final : public Solver {
 public:
  MarkovSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design);

  std::string name() const override { return "markov"; }
  void refresh() override;
  const Vector& prior_mean() const override { return prior_mean_; }
  const Vector& prior_variances() const override { return prior_variances_; }
  const Vector& extra_variances() const override { return none_; }
  Index null_dimension() const override { return prior_->null_dimension(); }
  Index latent_dimension() const override { return rows_; }
  bool cheap_products() const override { return true; }
  bool favours_products() const override { return false; }  // all are one or two passes over the rows
  bool can_sweep() const override;
  bool can_whiten() const override;

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
  std::vector<Coefficients> coefficients(const SolverState& state) override;
  Conditional conditional(const SolverState& state, const DesignRows& others,
                          const ConditionalRequest& request) override;
  double row_work() const override { return 1e3; }
  Matrix draw(const SolverState& state, const DesignRows& others, Index count) override;
  double rounding() const override;
  double jitter() const override { return jitter_; }

 private:
  static constexpr Index most_dense = 5000;  // rows for which a square matrix is affordable once

  /// A chain and the rows of the data that it has, -1 for those of a centre that are not among them.
  struct Part {
    CentredChain chain;
    std::vector<Index> rows;
  };

  void add_chains();
  /// Of a term in every part: the first block, how many.
  std::pair<Index, Index> blocks_of(Index t) const;
  /// visit(t, r, block) for the processes r of terms t that groups share.
  void for_shared(const std::function<void(Index t, Index r, Index block)>& visit) const;
  Vector take(const Part& part, const Vector& x) const;
  void put(const Part& part, const Vector& own, VectorRef x) const;
  /// x <- f(chain, x of its rows), chain by chain.
  Vector by_chain(double work, const Vector& x,
                  const std::function<Vector(const CentredChain&, const Vector&)>& f) const;
  /// The same for all columns of X.
  Matrix by_chain(const Matrix& X, const std::function<Vector(const CentredChain&, const Vector&)>& f) const;
  Vector coefficient_means(const Vector& b) const;  // of the border
  Vector border_precision() const;                  // P
  Matrix node_covariance() const;                   // of the fields
  Vector nodes(const Vector& border) const;         // the fields of these coefficients
  /// Precisions with that of next to no noise for those that are infinite.
  Vector finite(const Vector& lambda) const;
  SolverState finite(const SolverState& state) const;
  void use(const SolverState& state);
  double row_flops() const;
  /// hyper[h] += weight tr((Lambda - Lambda V Lambda) dC/dh) + sum_j w_j x_j'dC/dh x_j, of the chains.
  void add_chain_gradient(double weight, const std::vector<CentredChain::Quadratic>& forms, VectorRef hyper) const;
  /// (Lambda - Lambda V Lambda) W.
  Matrix decided_columns() const;
  /// The solver of the fitted rows and new ones, without sites there, at this state; and the state's b there.
  MarkovSolver with_rows(const SolverState& state, const DesignRows& others, Vector& b) const;

  DenseColumns columns_;
  FieldStack fields_;
  std::vector<Part> parts_;
  std::vector<Index> block_terms_;  // of a part's blocks, in order; the same in all
  Index dimension_ = 0;             // of the longest state
  Vector prior_mean_, prior_variances_, none_;
  Matrix W_;        // N x p: columns, then fields
  Matrix root_of_fields_;  // of their prior covariance
  Matrix answers_;  // T
  Matrix root_;     // L of S = L L'
  Matrix F_;        // T L^-T
  double process_variance_ = 0;  // the largest of a row
  double log_det_ = 0, jitter_ = 0;
  Vector variances_;
};

}  // namespace galvi
