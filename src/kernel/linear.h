// Linear: sum_d variance_d x_d z_d.
#pragma once

#include "kernel/spec.h"

namespace galvi {

class Linear final : public Kernel {
 public:
  explicit Linear(const KernelSpec& spec)
      : columns_(spec.columns),
        variance_at_(positions(spec, "variance", true)),
        variance_(Vector::Ones(static_cast<Index>(spec.columns.size()))) {}
  static KernelFacts facts() {
    KernelFacts facts{{KernelParameter::variance(true)}};
    facts.features = KernelFacts::Features::inputs;
    return facts;
  }

  void update(const ConstVectorRef& hyper) override {
    for (Index d = 0; d < variance_.size(); ++d) variance_[d] = non_negative(hyper, at(d), "variance");
  }

  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override {
    const Matrix x = select_columns(X, columns_) * variance_.asDiagonal();
    out.noalias() = x * select_columns(Z, columns_).transpose();
  }

  void diagonal(const ConstMatrixRef& X, VectorRef out) const override {
    out = select_columns(X, columns_).cwiseAbs2() * variance_;
  }

  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override {
    const Matrix gx = G.transpose() * select_columns(X, columns_);  // b x columns
    for (Index d = 0; d < variance_.size(); ++d) {
      hyper[at(d)] += gx.col(d).dot(Z.col(columns_[d]));
      if (inputs != nullptr) inputs->col(columns_[d]) += variance_[d] * gx.col(d);
    }
  }

  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override {
    for (Index d = 0; d < variance_.size(); ++d) hyper[at(d)] += g.dot(X.col(columns_[d]).cwiseAbs2());
  }

 private:
  Index at(Index d) const { return variance_at_.size() == 1 ? variance_at_[0] : variance_at_[d]; }

  std::vector<Index> columns_;
  std::vector<Index> variance_at_;
  Vector variance_;  // one per column
};

}  // namespace galvi
