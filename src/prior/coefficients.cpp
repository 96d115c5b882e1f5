#include "prior/coefficients.h"

#include <cmath>

namespace galvi {

void IndependentCoefficients::update(const ConstVectorRef& hyper) {
  variance_.setOnes(mean_.size());
  for (Index j = 0; j < mean_.size(); ++j)
    for (Index r = 0; r < factors_.cols(); ++r)
      if (factors_(j, r) >= 0) variance_[j] *= hyper[factors_(j, r)];
  scale_ = variance_.unaryExpr([](double v) { return std::isinf(v) ? 1.0 : std::sqrt(v); });
  hyper_ = hyper;
}

Vector IndependentCoefficients::row_variances(const ConstMatrixRef& W) const {
  Vector out = Vector::Zero(W.rows());
  for (Index j = 0; j < W.cols(); ++j)
    out.array() += (W.col(j).array() == 0.0).select(0.0, W.col(j).array().square() * variance_[j]);
  return out;
}

void IndependentCoefficients::chain(const ConstVectorRef& d_variance, VectorRef hyper) const {
  for (Index j = 0; j < mean_.size(); ++j)
    for (Index r = 0; r < factors_.cols(); ++r) {
      const int h = factors_(j, r);
      if (h >= 0) hyper[h] += d_variance[j] * variance_[j] / hyper_[h];
    }
}

// d bound / d variance_j = sum_n G_nj W_nj / (2 variance_j)
void CoefficientsTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  const Vector& variance = coefficients_.variance();
  Vector d_variance = Vector::Zero(sums.size());
  for (Index j = 0; j < sums.size(); ++j)
    if (std::isfinite(variance[j]) && variance[j] > 0) d_variance[j] = sums[j] / (2 * variance[j]);
  coefficients_.chain(d_variance, hyper);
}

}  // namespace galvi
