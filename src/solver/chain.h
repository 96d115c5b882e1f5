// A sum of Markov processes of one input (kernel/state_space.h) at rows in the order of that input, with sites
// (lambda, b) at the rows: every verb of a solver in one or two passes, N d^3 with d the length of the state. The
// form is that of covariances and adjoints (Kalman forwards; Bryson and Frazier 1963, de Jong 1989 backwards): it
// has no inverse, and keeps its digits at gaps of zero, and at sites of any size and sign.
//
//   x_i = A_i x_(i-1) + e_i,  e_i ~ N(0, Q_i),  f_i = h_i'x_i
//   P_i      covariance of x_i given earlier sites, s_i = 1 + lambda_i h_i'P_i h_i
//   N_i      minus the curvature of the log density of all later sites in x_i, given earlier ones
//   L_i      = I - P_i h_i h_i' lambda_i / s_i
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernel/state_space.h"
#include "numeric/context.h"

namespace galvi {

/// One process and its factor in every row: none is a factor of one.
struct ChainBlock {
  const StateSpace* space;
  Vector scale;         // N or empty
  bool moves = false;  // do the factors depend on hyperparameters?

  double at(Index i) const { return scale.size() > 0 ? scale[i] : 1.0; }
};

/// Weights of one block's process at the rows, as linear functions of it have.
struct BlockWeights {
  Index block;
  Vector weight;  // N
};

class Chain {
 public:
  /// In place of the number of a block: the sum of all.
  static constexpr Index all = -1;

  virtual ~Chain() = default;
  virtual std::unique_ptr<Chain> clone() const = 0;
  Index rows() const { return at_.size(); }  // N
  Index blocks() const { return static_cast<Index>(blocks_.size()); }
  const ChainBlock& block(Index b) const { return blocks_[b]; }
  /// d
  Index dimension() const { return dimension_; }

  /// Call after the hyperparameters have changed, with the factors of blocks that move.
  virtual void refresh() = 0;
  void rescale(Index block, Vector scale) { blocks_[block].scale = std::move(scale); }
  /// False where there is no posterior, possible with negative lambda only.
  virtual bool factorise(const Vector& lambda) = 0;
  const Vector& lambda() const { return lambda_; }
  /// log|I + C Lambda|.
  double log_det() const { return log_det_; }
  /// diag C of a block.
  virtual Vector prior_variances(Index block) const = 0;
  /// diag V, of all or of the sum of `count` blocks.
  virtual Vector variances(Index first = all, Index count = 1) const = 0;

  struct Solution {
    Vector mean;   // V b
    Vector alpha;  // b - lambda mean, without the loss of a difference
    Matrix parts;  // of each block, if asked for.   N x blocks
  };
  Solution solve(const Vector& b, bool parts = false) const { return solve_for({all, b}, parts); }
  /// The same for information on one block; alpha is then -lambda mean.
  virtual Solution solve_for(const BlockWeights& b, bool parts) const = 0;
  /// y - V Lambda y, without the loss of a difference.
  virtual Vector residual(const Vector& y) const = 0;
  virtual Vector prior_product(const BlockWeights& x) const = 0;  // C x of one block or all
  virtual Vector squared_covariance(const Vector& x) const = 0;   // (V o V) x
  /// x'C x of one block or all, and x'V x.
  virtual double prior_form(const BlockWeights& x) const = 0;
  virtual double covariance_form(const Vector& x) const = 0;
  /// x'(C o V) x and x'(V o V) x.
  struct SquaredForms {
    double prior, covariance;
  };
  virtual SquaredForms squared_forms(const Vector& x) const = 0;

  /// Visits all rows in order. t has the residuals of pseudo-observations Y and the covariances of f with linear
  /// functions, at the present sites; v the variance of f by this chain alone. lambda += what `change` returns; call
  /// factorise() afterwards.
  using Change = std::function<double(Index i, double v, const Vector& t)>;
  void sweep(const Matrix& Y, const std::vector<BlockWeights>& functions, const Change& change);

  /// Sums in which the hyperparameters' gradient is linear, in units of weight: those of log|I + C Lambda| and of
  /// x'C x.
  virtual void start_gradient() const = 0;
  virtual void add_log_det_gradient(double weight) const = 0;
  virtual void add_quadratic_gradient(double weight, const BlockWeights& x) const = 0;
  /// hyper[h] += the derivative of all of these.
  virtual void finish_gradient(VectorRef hyper) const = 0;
  /// Their derivative in the factors of a block that moves.   N
  Vector scale_gradient(Index block) const { return by_scale_.col(block); }

  /// Draws of every block from N(0, V).   blocks of N x count
  std::vector<Matrix> draw(Context& context, Index count) const;

 protected:
  Chain(Vector at, std::vector<ChainBlock> blocks);
  virtual Matrix start() const = 0;                                 // covariance of x_0
  virtual Vector observation(Index i, Index block) const = 0;       // h_i of all or one block
  virtual void step(Index i, Matrix& A_i, Matrix& Q_i) const = 0;   // to row i > 0
  /// The covariance of x_i given the sites up to i, quick where i falls by one with each call.
  virtual std::function<Matrix(Index)> filter() const = 0;

  Vector at_;
  std::vector<ChainBlock> blocks_;
  std::vector<Index> first_;  // element of the state of each block
  Index dimension_ = 0;
  Vector lambda_;
  double log_det_ = 0;
  mutable Matrix by_scale_;  // sums of a gradient.   N x blocks, without columns if none moves
};

/// at: N, not decreasing.
std::unique_ptr<Chain> make_chain(Vector at, std::vector<ChainBlock> blocks);

}  // namespace galvi
