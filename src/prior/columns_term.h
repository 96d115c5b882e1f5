// A finite set of columns with independent Gaussian coefficients: fixed effects, linear and constant kernels.
#pragma once

#include "prior/coefficients.h"

namespace galvi {

class ColumnsTerm final : public Term {
 public:
  explicit ColumnsTerm(const TermSpec& spec)
      : Term(spec.label), W_(spec.rows.W), coefficients_(spec.mean, spec.factors) {}

  void update(const ConstVectorRef& hyper) override { coefficients_.update(hyper); }

  // cov = W diag(variance) W'
  void add_covariance(Context& context, MatrixRef K) const override { add_product(context, scaled(W_), K); }
  void add_covariance(Context& context, const TermRows& others, MatrixRef K) const override {
    add_product(context, scaled(others.W), K);
  }
  void add_variances(Context&, VectorRef d) const override { d += W_.cwiseAbs2() * coefficients_.variance(); }
  void add_variances(Context&, const TermRows& others, VectorRef d) const override {
    d += others.W.cwiseAbs2() * coefficients_.variance();
  }
  void add_cross(Context& context, const TermRows& others, MatrixRef K) const override;
  // d/d variance_j = w_j' G w_j
  void add_covariance_gradient(Context&, const Weights& G, VectorRef hyper) const override {
    coefficients_.chain(W_.cwiseProduct(G.multiply(W_)).colwise().sum().transpose(), hyper);
  }

  void add_prior_mean(VectorRef mean) const override { mean += W_ * coefficients_.mean(); }
  void add_prior_mean(const TermRows& others, VectorRef mean) const override {
    mean += others.W * coefficients_.mean();
  }

  Index columns() const override { return coefficients_.mean().size(); }
  const Vector& coefficient_mean() const override { return coefficients_.mean(); }
  const Vector& coefficient_variance() const override { return coefficients_.variance(); }
  void fill(Index begin, MatrixRef W) const override {
    for (Index j = 0; j < W.cols(); ++j)
      W.col(j) = coefficients_.scale()[j] * W_.col(j).segment(begin, W.rows());
  }
  void fill(const TermRows& others, MatrixRef W) const override {
    W = others.W * coefficients_.scale().asDiagonal();
  }
  std::unique_ptr<ColumnGradient> column_gradient() const override { return coefficients_.gradient(); }

 private:
  Matrix scaled(const Matrix& W) const { return W * coefficients_.variance().cwiseSqrt().asDiagonal(); }
  static void add_product(Context& context, const Matrix& A, MatrixRef K);

  Matrix W_;
  IndependentCoefficients coefficients_;
};

}  // namespace galvi
