// Integrated Wiener process: a function whose second derivative is white noise, zero with its slope at the origin.
#pragma once

#include "kernel/spec.h"
#include "kernel/state_space.h"

namespace galvi {

/// The prior of cubic smoothing splines (Wahba 1978), from an origin to both sides, which are independent: with s the
/// smaller and u the larger distance from the origin on one side, k = variance s^2 (3 u - s) / 6.
///
/// The state is (f, f'). From the origin on a step adds white noise to f''. Before it, seen forwards, it leads towards
/// the state at the origin, which is zero: it is the cubic interpolation between the state and zero, with the variance
/// of a clamped beam under a point load.
class IntegratedWiener final : public Kernel, private StateSpace {
 public:
  explicit IntegratedWiener(const KernelSpec& spec);
  static KernelFacts facts();

  void update(const ConstVectorRef& hyper) override { variance_ = non_negative(hyper, variance_at_, "variance"); }
  void value(const ConstMatrixRef& X, const ConstMatrixRef& Z, MatrixRef out) const override;
  void diagonal(const ConstMatrixRef& X, VectorRef out) const override;
  void gradient(const ConstMatrixRef& X, const ConstMatrixRef& Z, const ConstMatrixRef& G, VectorRef hyper,
                Matrix* inputs) const override;
  void diagonal_gradient(const ConstMatrixRef& X, const ConstVectorRef& g, VectorRef hyper) const override;
  const StateSpace* state_space() const override { return this; }

 private:
  Index dimension() const override { return 2; }
  double regular_from() const override { return origin_; }
  void observe(VectorRef h) const override { h << 1, 0; }
  void covariance(double at, MatrixRef P) const override;
  void step(double at, double gap, MatrixRef A, MatrixRef Q) const override;
  void add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;

  Index column_, variance_at_;
  double origin_, variance_ = 1;
};

}  // namespace galvi
