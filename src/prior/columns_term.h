// Finitely many columns with independent Gaussian coefficients: fixed effects, linear and constant kernels.
#pragma once

#include "prior/coefficients.h"

namespace galvi {

class ColumnsTerm final : public CoefficientsTerm {
 public:
  explicit ColumnsTerm(const TermSpec& spec) : CoefficientsTerm(spec) {}

  void update(const ConstVectorRef& hyper) override { coefficients_.update(hyper); }
  void check(const TermRows& rows) const override { check_width("W", rows.W.cols(), columns()); }

  void add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const override {
    mean += rows.W.middleRows(begin, mean.size()) * coefficients_.mean();
  }

  // cov = W diag(variance) W'
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_variances(Context&, const TermRows& rows, VectorRef d) const override {
    d += coefficients_.row_variances(rows.W);
  }
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  // d/d variance_j = w_j' G w_j
  void add_covariance_gradient(Context&, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override {
    coefficients_.chain(rows.W.cwiseProduct(G.multiply(rows.W)).colwise().sum().transpose(), hyper);
  }

  void fill(const TermRows& rows, Index begin, MatrixRef W) const override {
    W = rows.W.middleRows(begin, W.rows()) * coefficients_.scale().asDiagonal();
  }
  bool fixed_columns() const override { return true; }
  void whiten(MatrixRef X) const override { X *= coefficients_.scale().asDiagonal(); }

  bool has_plain_design() const override { return true; }
  Matrix plain_design(const TermRows& rows) const override { return rows.W; }
};

}  // namespace galvi
