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

template <class F>
void Stationary::fill(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out, const F& correlation) const {
  const Matrix x = scaled(X);
  const Matrix z = scaled(Z).transpose();
  squared_distances(x, z, out);
  for (Index j = 0; j < z.cols(); ++j) {
    auto column = out.col(j).array();
    correlation(column);
    column *= variance_;
  }
}

void Stationary::value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const {
  fill(X, Z, out, [&](ArrayRef s) { correlate(s); });
}

void Stationary::value_less_constant(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const {
  fill(X, Z, out, [&](ArrayRef s) { correlate_less_one(s); });
}

void Stationary::diagonal(const ConstMatrixRef&, VectorRef out) const { out.setConstant(variance_); }

void Stationary::gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G,
                          VectorRef hyper, Matrix* inputs) const {
  const Matrix x = scaled(X);
  const Matrix z = scaled(Z).transpose();
  const Index p = x.cols();
  const bool isotropic = lengthscale_at_.size() == 1;
  Matrix S(x.rows(), z.cols()), W(x.rows(), z.cols());
  squared_distances(x, z, S);
  Eigen::ArrayXd c(x.rows());
  double d_variance = 0, d_common = 0;
  Vector d_scale = Vector::Zero(p);
  for (Index j = 0; j < z.cols(); ++j) {
    const auto g = G.col(j).array();
    const auto s = S.col(j).array();
    auto w = W.col(j).array();
    c = s;
    correlate(c);
    d_variance += (g * c).sum();
    add_shape_gradient(s, c, g, hyper);
    slope(s, c, w);
    w *= g;
    if (isotropic) {
      d_common += (w * s).sum();
    } else {
      for (Index d = 0; d < p; ++d) d_scale[d] += (w * (x.col(d).array() - z(d, j)).square()).sum();
    }
  }
  if (inputs != nullptr && z.cols() > 0) {
    // ds/dz_d = -2 (x_d - z_d) / lengthscale_d^2, and a sum over rows of w (x - z) is one of w x less one of w z: with
    // the points' mean as origin little cancels
    const Vector origin = z.rowwise().mean();
    Matrix sums = W.transpose() * (x.rowwise() - origin.transpose());
    sums.noalias() -= W.colwise().sum().transpose().asDiagonal() * (z.colwise() - origin).transpose();
    for (Index d = 0; d < p; ++d) inputs->col(columns_[d]) -= 2 * variance_ / lengthscale_[d] * sums.col(d);
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
