// Columns whose coefficients have the precision P = sum_k S_k / v_k of several penalties: smooths of more than one
// smoothing parameter, such as tensor products.
#pragma once

#include "prior/coefficients.h"
#include "prior/low_rank_term.h"

namespace galvi {

/// The first columns have independent coefficients (the null space of the penalties), the others are blocks, each with
/// penalties of its own. In a block of diagonal penalties coefficient j has the variance 1 / sum_k d_jk / v_k. In the
/// others P = R'R, whose columns are X R^-1, and R is the triangle of the QR decomposition of the roots of S_k / v_k
/// below one another: squares of v_k, which may differ by ten orders of magnitude, are never added.
class PenalisedTerm final : public LowRankTerm {
 public:
  /// Throws std::invalid_argument if sizes disagree.
  explicit PenalisedTerm(const TermSpec& spec);

  /// Throws std::domain_error where P is not positive definite.
  void update(const ConstVectorRef& hyper) override;
  void check(const TermRows& rows) const override { check_width("W", rows.W.cols(), columns()); }

  void add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const override;
  void add_variances(Context& context, const TermRows& rows, VectorRef d) const override;

  Index columns() const override { return mean_.size(); }
  const Vector& coefficient_mean() const override { return mean_; }
  /// Of blocks with roots: of the whitened coefficients R b, ones.
  const Vector& coefficient_variance() const override { return variance_; }
  void fill(const TermRows& rows, Index begin, MatrixRef W) const override {
    W = rows.W.middleRows(begin, W.rows());
    whiten(W);
  }
  bool fixed_columns() const override { return true; }
  void whiten(MatrixRef X) const override;

  Index gradient_size() const override;
  void add_gradient(const TermRows& rows, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef& g, VectorRef sums) const override;
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const override;
  bool recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const override;

  bool has_plain_design() const override;
  Matrix plain_design(const TermRows& rows) const override { return rows.W; }

 private:
  struct Block {
    PenaltySpec penalty;
    Index first, count;  // its columns
    Vector v;            // the hyperparameters
    Matrix R, inverse;   // with roots: count x count
    bool diagonal() const { return penalty.roots.empty(); }
  };
  void factorise(Block& block) const;

  IndependentCoefficients free_;
  std::vector<Block> blocks_;
  Vector mean_, variance_;
};

}  // namespace galvi
