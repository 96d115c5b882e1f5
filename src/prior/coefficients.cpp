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

// The same coefficients, with W in other units.
bool CoefficientsTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const CoefficientsTerm*>(&old);
  if (!before || before->columns() != columns()) return false;
  const auto known = before->coefficients_.scale().array() == 0;
  const Vector unit = known.select(Vector::Zero(columns()), before->coefficients_.scale().cwiseInverse());
  B = unit.cwiseProduct(coefficients_.scale()).asDiagonal();
  shift = unit.cwiseProduct(coefficients_.mean() - before->coefficients_.mean());
  left = Matrix::Zero(columns(), columns());
  return true;
}

}  // namespace galvi
