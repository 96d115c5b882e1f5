// A finite set of columns with independent Gaussian coefficients: fixed effects, linear and constant kernels.
#pragma once

#include <cmath>

#include "prior/term.h"

namespace galvi {

class ColumnsTerm final : public Term {
 public:
  explicit ColumnsTerm(const TermSpec& spec)
      : Term(spec.label), W_(spec.rows.W), mean_(spec.mean), factors_(spec.factors) {}

  void update(const ConstVectorRef& hyper) override {
    variance_.setOnes(mean_.size());
    for (Index j = 0; j < mean_.size(); ++j)
      for (Index r = 0; r < factors_.cols(); ++r)
        if (factors_(j, r) >= 0) variance_[j] *= hyper[factors_(j, r)];
    scale_ = variance_.cwiseSqrt();
    for (Index j = 0; j < scale_.size(); ++j)
      if (std::isinf(scale_[j])) scale_[j] = 1;
    hyper_ = hyper;
  }

  // cov = W diag(variance) W'
  void add_covariance(Context& context, MatrixRef K) const override { add_product(context, scaled(W_), K); }
  void add_covariance(Context& context, const TermRows& others, MatrixRef K) const override {
    add_product(context, scaled(others.W), K);
  }
  void add_variances(Context&, VectorRef d) const override { d += W_.cwiseAbs2() * variance_; }
  void add_variances(Context&, const TermRows& others, VectorRef d) const override {
    d += others.W.cwiseAbs2() * variance_;
  }
  void add_cross(Context& context, const TermRows& others, MatrixRef K) const override;
  // d/d variance_j = w_j' G w_j
  void add_covariance_gradient(Context&, const Weights& G, VectorRef hyper) const override {
    chain(W_.cwiseProduct(G.multiply(W_)).colwise().sum().transpose(), hyper);
  }

  void add_prior_mean(VectorRef mean) const override { mean += W_ * mean_; }
  void add_prior_mean(const TermRows& others, VectorRef mean) const override { mean += others.W * mean_; }

  Index columns() const override { return mean_.size(); }
  const Vector& coefficient_mean() const override { return mean_; }
  const Vector& coefficient_variance() const override { return variance_; }
  void fill(Index begin, MatrixRef W) const override {
    for (Index j = 0; j < W.cols(); ++j) W.col(j) = scale_[j] * W_.col(j).segment(begin, W.rows());
  }
  void fill(const TermRows& others, MatrixRef W) const override { W = others.W * scale_.asDiagonal(); }
  std::unique_ptr<ColumnGradient> column_gradient() const override;

 private:
  class Gradient;
  /// hyper[h] += sum_j d_variance_j d variance_j / dh.
  void chain(const ConstVectorRef& d_variance, VectorRef hyper) const;
  Matrix scaled(const Matrix& W) const { return W * variance_.cwiseSqrt().asDiagonal(); }
  static void add_product(Context& context, const Matrix& A, MatrixRef K);

  Matrix W_;
  Vector mean_;
  Eigen::MatrixXi factors_;
  Vector variance_, scale_;
  Vector hyper_;
};

}  // namespace galvi
