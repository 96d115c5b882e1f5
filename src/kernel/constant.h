// Constant: the variance, whatever the inputs.
#pragma once

#include "kernel/harmonics.h"
#include "kernel/spec.h"
#include "kernel/state_space.h"

namespace galvi {

class Constant final : public Kernel, private StateSpace, private Spectrum {
 public:
  explicit Constant(const KernelSpec& spec) : variance_at_(position(spec, "variance")) {}
  static KernelFacts facts() {
    KernelFacts facts{{KernelParameter::variance()}};
    facts.features = KernelFacts::Features::constant;
    facts.acts_on_columns = facts.metric = false;
    facts.states = 1;
    facts.lines = KernelFacts::Lines::one;
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
  const StateSpace* state_space() const override { return this; }
  const Spectrum* spectrum() const override { return this; }

 private:
  std::vector<Harmonics> harmonics() const override { return {{0, 1.0, Vector::Constant(1, variance_)}}; }
  void add_harmonics_gradient(const std::vector<Harmonics>& by, VectorRef hyper) const override {
    hyper[variance_at_] += by[0].variance[0];
  }
  Index dimension() const override { return 1; }
  void observe(VectorRef h) const override { h[0] = 1; }
  void covariance(double, MatrixRef P) const override { P(0, 0) = variance_; }
  void step(double, double, MatrixRef A, MatrixRef Q) const override {
    A(0, 0) = 1;
    Q(0, 0) = 0;
  }
  void add_covariance_gradient(double, const ConstMatrixRef& G, VectorRef hyper) const override {
    hyper[variance_at_] += G(0, 0);
  }
  void add_step_gradient(double, double, const ConstMatrixRef&, const ConstMatrixRef&, VectorRef) const override {}

  Index variance_at_;
  double variance_ = 1;
};

}  // namespace galvi
