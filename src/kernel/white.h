// White: the variance where two rows are identical in the kernel's columns, else 0.
#pragma once

#include "kernel/spec.h"

namespace galvi {

class White final : public Kernel {
 public:
  explicit White(const KernelSpec& spec) : columns_(spec.columns), variance_at_(position(spec, "variance")) {}
  static KernelFacts facts() {
    KernelFacts facts{{KernelParameter::variance()}};
    facts.metric = false;
    return facts;
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    for (Index j = 0; j < Z.rows(); ++j) {
      for (Index i = 0; i < X.rows(); ++i) out(i, j) = identical(X, i, Z, j) ? variance_ : 0;
    }
  }

  void diagonal(const ConstMatrixRef&, VectorRef out) const override { out.setConstant(variance_); }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix*) const override {
    double sum = 0;
    for (Index j = 0; j < Z.rows(); ++j) {
      for (Index i = 0; i < X.rows(); ++i) sum += identical(X, i, Z, j) ? G(i, j) : 0;
    }
    hyper[variance_at_] += sum;
  }

  void diagonal_gradient(const ConstMatrixRef&, const ConstVectorRef& g, VectorRef hyper) const override {
    hyper[variance_at_] += g.sum();
  }

 private:
  bool identical(const ConstMatrixRef& X, Index i, const ConstMatrixRef& Z, Index j) const {
    for (const Index d : columns_) {
      if (X(i, d) != Z(j, d)) return false;
    }
    return true;
  }

  std::vector<Index> columns_;
  Index variance_at_;
  double variance_ = 1;
};

}  // namespace galvi
