#include "kernel/stationary.h"

namespace galvi {

Stationary::Stationary(const KernelSpec& spec)
    : columns_(spec.columns),
      variance_at_(position(spec, "variance")),
      lengthscale_at_(positions(spec, "lengthscale", true)),
      lengthscale_(Vector::Ones(static_cast<Index>(spec.columns.size()))) {}

void Stationary::update(const ConstVectorRef& hyper) {
  variance_ = non_negative(hyper, variance_at_, "variance");
  for (Index d = 0; d < lengthscale_.size(); ++d) {
    lengthscale_[d] =
        positive(hyper, lengthscale_at_.size() == 1 ? lengthscale_at_[0] : lengthscale_at_[d], "lengthscale");
  }
  update_shape(hyper);
}

// Clipped where a squared distance could overflow: such rows are uncorrelated anyway.
Matrix Stationary::scaled(const ConstMatrixRef& X) const {
  constexpr double largest = 1e75;
  Matrix out(X.rows(), lengthscale_.size());
  for (Index d = 0; d < out.cols(); ++d) {
    out.col(d) = (X.col(columns_[d]).array() / lengthscale_[d]).max(-largest).min(largest);
  }
  return out;
}

void Stationary::value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const {
  const Matrix x = scaled(X);
  const Matrix z = scaled(Z).transpose();
  for (Index j = 0; j < z.cols(); ++j) {
    auto column = out.col(j).array();
    squared_distances(x, z.col(j), column);
    correlate(column);
    column *= variance_;
  }
}

void Stationary::diagonal(const ConstMatrixRef&, VectorRef out) const { out.setConstant(variance_); }

void Stationary::gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G,
                          VectorRef hyper, Matrix* inputs) const {
  const Matrix x = scaled(X);
  const Matrix z = scaled(Z).transpose();
  const Index p = x.cols();
  const bool isotropic = lengthscale_at_.size() == 1;
  Eigen::ArrayXd s(x.rows()), c(x.rows()), w(x.rows());
  double d_variance = 0, d_common = 0;
  Vector d_scale = Vector::Zero(p);
  for (Index j = 0; j < z.cols(); ++j) {
    const auto g = G.col(j).array();
    squared_distances(x, z.col(j), s);
    c = s;
    correlate(c);
    d_variance += (g * c).sum();
    add_shape_gradient(s, c, g, hyper);
    slope(s, c, w);
    w *= g;
    if (isotropic) d_common += (w * s).sum();
    if (isotropic && inputs == nullptr) continue;
    for (Index d = 0; d < p; ++d) {
      const auto difference = x.col(d).array() - z(d, j);
      if (!isotropic) d_scale[d] += (w * difference.square()).sum();
      // ds/dz_d = -2 (x_d - z_d) / lengthscale_d^2
      if (inputs != nullptr) {
        (*inputs)(j, columns_[d]) -= 2 * variance_ / lengthscale_[d] * (w * difference).sum();
      }
    }
  }
  hyper[variance_at_] += d_variance;
  // ds/dlengthscale_d = -2 ((x_d - z_d) / lengthscale_d)^2 / lengthscale_d
  if (isotropic) {
    if (p > 0) hyper[lengthscale_at_[0]] -= 2 * variance_ / lengthscale_[0] * d_common;
  } else {
    for (Index d = 0; d < p; ++d) hyper[lengthscale_at_[d]] -= 2 * variance_ / lengthscale_[d] * d_scale[d];
  }
}

void Stationary::diagonal_gradient(const ConstMatrixRef&, const ConstVectorRef& g, VectorRef hyper) const {
  hyper[variance_at_] += g.sum();
}

}  // namespace galvi
