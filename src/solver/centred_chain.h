// A chain whose processes may have mean zero over some rows: g = f - (a'f) v, v one in the rows that the process is in.
//
// With C the covariance of f and s = a'C a this is f given a'f = 0, plus (C a / s - v) u sqrt(s), u ~ N(0, 1). So V is
// that of the chain, less a matrix of rank one for the condition, plus one for u:
//   V = V_0 + sum_j sign_j F_j F_j'.
#pragma once

#include "solver/chain.h"

namespace galvi {

class CentredChain {
 public:
  /// centres: a, which adds up to one, of the blocks that have mean zero.
  CentredChain(std::unique_ptr<Chain> chain, std::vector<BlockWeights> centres);
  CentredChain(const CentredChain& other);
  CentredChain(CentredChain&&) = default;

  Index rows() const { return chain_->rows(); }
  const Chain& chain() const { return *chain_; }
  void refresh();
  void rescale(Index block, Vector scale) { chain_->rescale(block, std::move(scale)); }
  bool factorise(const Vector& lambda);
  double log_det() const { return log_det_; }
  Vector prior_variances() const;
  Vector variances() const;
  /// V b, and b - lambda V b without the loss of a difference.
  struct Solution {
    Vector mean, alpha;
  };
  Solution solve(const Vector& b) const;
  Vector residual(const Vector& y) const;    // y - V Lambda y
  Vector covariance(const Vector& x) const;  // V x
  Vector prior_product(const Vector& x) const;
  Vector squared_covariance(const Vector& x) const;  // (V o V) x
  double prior_form(const Vector& x) const;          // x'C x
  double covariance_form(const Vector& x) const;     // x'V x
  Chain::SquaredForms squared_forms(const Vector& x) const;  // x'(C o V) x and x'(V o V) x

  /// The part of `count` blocks in V x, and the variances of their sum.
  Vector part(Index first, Index count, const Vector& x) const;
  Vector part_variances(Index first, Index count) const;

  /// hyper[h] += weight tr((Lambda - Lambda V Lambda) dC/dh) + sum_j w_j x_j' dC/dh x_j.
  struct Quadratic {
    double weight;
    Vector x;
  };
  void add_gradient(double weight, std::vector<Quadratic> forms, VectorRef hyper) const;
  /// The derivative of the same in the factors of a block that moves.   N
  Vector scale_gradient(Index block) const { return chain_->scale_gradient(block); }

  /// Blocks with mean zero: their conditions, and the columns that belong to them.   N x centres
  const std::vector<BlockWeights>& centres() const { return centres_; }
  const Matrix& columns() const { return columns_; }
  /// V_0 a, and a'V_0 a, which is 1 for a process without variance.
  const Matrix& conditions() const { return conditions_; }
  Matrix condition_covariance() const { return of_means_ * of_means_.transpose(); }
  void sweep(const Matrix& Y, const Chain::Change& change) { chain_->sweep(Y, centres_, change); }
  /// Draws from N(0, V).   N x count
  Matrix draw(Context& context, Index count) const;

 private:
  Vector level(Index c) const;  // v
  Vector centred(Index c, const Vector& x) const;  // x - a v'x

  std::unique_ptr<Chain> chain_;
  std::vector<BlockWeights> centres_;
  std::vector<Index> centre_of_;  // of each block, -1: none
  Matrix prior_means_;            // C a.   N x centres
  Vector prior_spread_;           // s
  Matrix columns_;                // (C a / s - v) sqrt(s)
  double log_det_ = 0;
  Matrix conditions_;   // V_0 a
  Matrix of_means_;     // a' V_0 a, factorised.   centres x centres
  Matrix answers_;      // (I - V Lambda) columns, without u
  Matrix of_columns_;   // the precision of u, factorised
  Matrix F_;            // N x 2 centres
  Vector sign_;
};

}  // namespace galvi
