// Independent Gaussian coefficients of a term's columns, whose variances are products of hyperparameters.
#pragma once

#include "prior/term.h"

namespace galvi {

/// Coefficient j is N(mean_j, variance_j) with variance_j the product of hyper[factors(j, .)] (-1: no
/// factor). An infinite variance is a flat prior.
class IndependentCoefficients {
 public:
  /// mean: q, factors: q x r.
  IndependentCoefficients(Vector mean, Eigen::MatrixXi factors)
      : mean_(std::move(mean)), factors_(std::move(factors)) {}
  void update(const ConstVectorRef& hyper);

  const Vector& mean() const { return mean_; }          // q
  const Vector& variance() const { return variance_; }  // q
  /// The standard deviation, one where the prior is flat.   q
  const Vector& scale() const { return scale_; }
  /// Of the rows of `W`; where an entry is zero a flat prior adds nothing.   W: n x q
  Vector row_variances(const ConstMatrixRef& W) const;
  /// hyper[h] += sum_j d_variance_j d variance_j / dh.   d_variance: q
  void chain(const ConstVectorRef& d_variance, VectorRef hyper) const;
  /// The gradient through whitened columns that are scale() times columns without hyperparameters.
  std::unique_ptr<ColumnGradient> gradient() const;

 private:
  Vector mean_;
  Eigen::MatrixXi factors_;
  Vector variance_, scale_, hyper_;
};

}  // namespace galvi
