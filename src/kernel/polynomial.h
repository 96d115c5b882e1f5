// Polynomial: variance (constant + x'z)^degree, the degree a whole number that is never learned.
#pragma once

#include "kernel/spec.h"

namespace galvi {

class Polynomial final : public Kernel {
 public:
  explicit Polynomial(const KernelSpec& spec)
      : columns_(spec.columns),
        variance_at_(position(spec, "variance")),
        constant_at_(position(spec, "constant")) {
    const auto degree = spec.constants.find("degree");
    if (degree == spec.constants.end() || degree->second < 1 ||
        degree->second != std::floor(degree->second)) {
      throw std::invalid_argument("kernel 'polynomial' needs a positive whole number as degree");
    }
    degree_ = static_cast<int>(degree->second);
  }
  static KernelFacts facts() {
    return {{KernelParameter::variance(), KernelParameter::shape("constant", 1e-6, 1e6)}, {"degree"}};
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
    constant_ = non_negative(hyper, constant_at_, "constant");
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    const Matrix base = bases(X, Z);
    out = variance_ * power(base, degree_);
  }

  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    out = variance_ * power(squares(X), degree_);
  }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Matrix base = bases(X, Z);
    // w = G dk/dbase, dk/dbase = variance degree base^(degree - 1)
    Matrix w = G.cwiseProduct(power(base, degree_ - 1));
    hyper[variance_at_] += w.cwiseProduct(base).sum();
    w *= variance_ * degree_;
    hyper[constant_at_] += w.sum();
    if (inputs == nullptr) return;
    const Matrix wx = w.transpose() * select_columns(X, columns_);
    for (Index d = 0; d < wx.cols(); ++d) inputs->col(columns_[d]) += wx.col(d);
  }

  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    const Matrix base = squares(X);
    const Matrix w = g.cwiseProduct(power(base, degree_ - 1).col(0));
    hyper[variance_at_] += w.cwiseProduct(base).sum();
    hyper[constant_at_] += variance_ * degree_ * w.sum();
  }

 private:
  Matrix bases(const ConstMatrixRef& X, const ConstMatrixRef& Z) const {
    Matrix out = select_columns(X, columns_) * select_columns(Z, columns_).transpose();
    out.array() += constant_;
    return out;
  }

  Matrix squares(const ConstMatrixRef& X) const {
    Matrix out = select_columns(X, columns_).rowwise().squaredNorm();
    out.array() += constant_;
    return out;
  }

  static Matrix power(const Matrix& base, int degree) {
    Matrix out = Matrix::Ones(base.rows(), base.cols());
    for (int k = 0; k < degree; ++k) out = out.cwiseProduct(base);
    return out;
  }

  std::vector<Index> columns_;
  Index variance_at_, constant_at_;
  int degree_;
  double variance_ = 1, constant_ = 1;
};

}  // namespace galvi
