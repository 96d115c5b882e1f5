// Constant: the variance, whatever the inputs.
#pragma once

#include "kernel/spec.h"

namespace galvi {

class Constant final : public Kernel {
 public:
  explicit Constant(const KernelSpec& spec) : variance_at_(position(spec, "variance")) {}
  static KernelFacts facts() {
    KernelFacts facts{{KernelParameter::variance()}};
    facts.features = KernelFacts::Features::constant;
    facts.acts_on_columns = facts.metric = false;
    return facts;
  }

  void update(const ConstVectorRef& hyper) override {
    variance_ = non_negative(hyper, variance_at_, "variance");
  }
  void value(const ConstMatrixRef&, const ConstMatrixRef&, MatrixRef out) const override {
    out.setConstant(variance_);
  }
  void diagonal(const ConstMatrixRef&, VectorRef out) const override { out.setConstant(variance_); }
  void gradient(const ConstMatrixRef&, const ConstMatrixRef&, const ConstMatrixRef& G, VectorRef hyper,
                Matrix*) const override {
    hyper[variance_at_] += G.sum();
  }
  void diagonal_gradient(const ConstMatrixRef&, const ConstVectorRef& g, VectorRef hyper) const override {
    hyper[variance_at_] += g.sum();
  }

 private:
  Index variance_at_;
  double variance_ = 1;
};

}  // namespace galvi
