#include "prior/effect_blocks.h"

#include <algorithm>
#include <stdexcept>

#include <Eigen/Cholesky>

namespace galvi {

EffectBlock::EffectBlock(const EffectStructure& structure, Index q, Index parts, std::vector<Index> sd,
                         std::vector<Index> cor, double noise)
    : structure_(&structure), q_(q), sd_(std::move(sd)), cor_(std::move(cor)), noise_(noise) {
  const Index width = parts == q ? 0 : parts == 2 * q - 1 ? 1 : q - 1;  // diagonals above the main one
  for (Index b = 0; b < q; ++b)
    for (Index a = std::max<Index>(0, b - width); a <= b; ++a) pairs_.push_back({a, b});
  const Index sds = static_cast<Index>(sd_.size());
  if (count() != parts || (sds != 1 && sds != q) || static_cast<Index>(cor_.size()) != structure.count(q))
    throw std::invalid_argument("effects of groups do not fit their covariance structure");
}

void EffectBlock::update(const ConstVectorRef& hyper, VectorRef values) {
  s_.resize(q_);
  for (Index a = 0; a < q_; ++a) s_[a] = hyper[sd_.size() == 1 ? sd_[0] : sd_[a]];
  numbers_.resize(static_cast<Index>(cor_.size()));
  for (Index k = 0; k < numbers_.size(); ++k) numbers_[k] = hyper[cor_[k]];
  R_ = structure_->matrix(q_, numbers_);
  // scaled to R, so that effects of different sizes keep their digits
  Matrix inner = R_;
  inner.diagonal().array() -= noise_ / s_.array().square();
  const Eigen::LLT<Matrix> factor(inner);
  if (factor.info() != Eigen::Success)
    throw std::domain_error("the covariances of random effects are not positive definite");
  const Vector inverse = s_.cwiseInverse();
  omega_ = inverse.asDiagonal() * factor.solve(Matrix::Identity(q_, q_)) * inverse.asDiagonal();
  for (Index p = 0; p < count(); ++p) values[p] = omega_(pairs_[p].a, pairs_[p].b);
}

// d Omega = -Omega dSigma Omega, so that d f / d Sigma = -Omega G Omega, with G = d f / d Omega.
void EffectBlock::chain(const ConstVectorRef& d_values, VectorRef hyper) const {
  Matrix G = Matrix::Zero(q_, q_);
  for (Index p = 0; p < count(); ++p) {
    G(pairs_[p].a, pairs_[p].b) += d_values[p] / 2;
    G(pairs_[p].b, pairs_[p].a) += d_values[p] / 2;
  }
  const Matrix d_sigma = -omega_ * G * omega_;
  const Matrix d_scaled = d_sigma * s_.asDiagonal();  // d f / d Sigma_ab s_b
  for (Index a = 0; a < q_; ++a) hyper[sd_.size() == 1 ? sd_[0] : sd_[a]] += 2 * d_scaled.row(a).dot(R_.row(a));
  if (cor_.empty()) return;
  const Vector d_numbers = structure_->chain(q_, numbers_, s_.asDiagonal() * d_scaled);
  for (std::size_t k = 0; k < cor_.size(); ++k) hyper[cor_[k]] += d_numbers[k];
}

}  // namespace galvi
