// A process less its mean over some points: what an intercept beside it then means is known.
#pragma once

#include "kernel/kernel.h"

namespace galvi {

/// f - (1/M) sum_m f(r_m) of a process f with kernel k and points r (M x p) has the covariance
///   k(x, z) - m(x) - m(z) + s,  m(x) = (1/M) sum_m k(x, r_m),  s = (1/M) sum_m m(r_m).
/// Each block costs M more columns.
class Centred final : public Kernel {
 public:
  Centred(std::unique_ptr<Kernel> kernel, Matrix points) : kernel_(std::move(kernel)), points_(std::move(points)) {}

  void update(const ConstVectorRef& hyper) override {
    kernel_->update(hyper);
    const Index M = points_.rows();
    level_ = mean(points_).mean();
    d_level_ = Vector::Zero(hyper.size());
    kernel_->gradient(points_, points_, Matrix::Constant(M, M, 1 / static_cast<double>(M * M)), d_level_, nullptr);
  }
  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    kernel_->value(X, Z, out);
    out.colwise() -= mean(X);
    out.rowwise() -= (mean(Z).array() - level_).matrix().transpose();
  }
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    kernel_->diagonal(X, out);
    out.array() += level_ - 2 * mean(X).array();
  }
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    kernel_->gradient(X, Z, G, hyper, inputs);
    kernel_->gradient(points_, X, spread(G.rowwise().sum()), hyper, nullptr);
    kernel_->gradient(points_, Z, spread(G.colwise().sum().transpose()), hyper, inputs);
    hyper += G.sum() * d_level_;
  }
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    kernel_->diagonal_gradient(X, g, hyper);
    kernel_->gradient(points_, X, spread(2 * g), hyper, nullptr);
    hyper += g.sum() * d_level_;
  }

 private:
  Vector mean(const ConstMatrixRef& X) const {  // m
    Matrix K(X.rows(), points_.rows());
    kernel_->value(X, points_, K);
    return K.rowwise().mean();
  }
  // -g_j / M for every point m and row j
  Matrix spread(const Vector& g) const {
    return Vector::Constant(points_.rows(), -1 / static_cast<double>(points_.rows())) * g.transpose();
  }

  std::unique_ptr<Kernel> kernel_;
  Matrix points_;
  double level_ = 0;  // s
  Vector d_level_;    // ds / d hyper
};

}  // namespace galvi
