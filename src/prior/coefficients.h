// Terms whose columns have independent Gaussian coefficients with variances that are products of
// hyperparameters.
#pragma once

#include "prior/term.h"

namespace galvi {

/// Coefficient j is N(mean_j, variance_j), with variance_j the product of hyper[factors(j, .)] (-1: no
/// factor). An infinite variance is a flat prior.
class IndependentCoefficients {
 public:
  /// mean: q, factors: q x r.
  IndependentCoefficients(Vector mean, Eigen::MatrixXi factors)
      : mean_(std::move(mean)), factors_(std::move(factors)) {}
  void update(const ConstVectorRef& hyper);

  const Vector& mean() const { return mean_; }          // q
  const Vector& variance() const { return variance_; }  // q
  /// The standard deviation; one where the prior is flat.   q
  const Vector& scale() const { return scale_; }
  /// Prior variances at the rows of `W`; a flat prior contributes nothing where the entry is zero.   W: n x q
  Vector row_variances(const ConstMatrixRef& W) const;
  /// hyper[h] += sum_j d_variance_j d variance_j / dh.   d_variance: q
  void chain(const ConstVectorRef& d_variance, VectorRef hyper) const;

 private:
  Vector mean_;
  Eigen::MatrixXi factors_;
  Vector variance_, scale_, hyper_;
};

/// A term whose whitened columns are the coefficients' scale times columns without hyperparameters.
class CoefficientsTerm : public Term {
 public:
  Index columns() const final { return coefficients_.mean().size(); }
  const Vector& coefficient_mean() const final { return coefficients_.mean(); }
  const Vector& coefficient_variance() const final { return coefficients_.variance(); }
  Index gradient_size() const final { return columns(); }
  void add_gradient(const TermRows&, Index, const ConstMatrixRef& W, const ConstMatrixRef& G,
                    const ConstVectorRef&, VectorRef sums) const final {
    sums += W.cwiseProduct(G).colwise().sum().transpose();
  }
  void finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const final;
  bool recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const final;

 protected:
  explicit CoefficientsTerm(const TermSpec& spec)
      : Term(spec.label), coefficients_(spec.mean, spec.factors) {}
  IndependentCoefficients coefficients_;
};

}  // namespace galvi
