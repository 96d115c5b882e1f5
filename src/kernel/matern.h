// Matern kernels of smoothness d - 1/2 over one input as Markov processes of d dimensions.
#pragma once

#include "kernel/state_space.h"
#include "kernel/stationary.h"

namespace galvi {

/// The state is (f, f' / r, f'' / r^2), r = sqrt(2 d - 1) / lengthscale, which depends on the gaps through t = r gap
/// alone (Hartikainen and Sarkka 2010 for the states of derivatives).
class Matern : public Stationary, private StateSpace {
 public:
  const StateSpace* state_space() const override { return columns_.size() == 1 ? this : nullptr; }

 protected:
  /// d: 1, 2 or 3
  Matern(const KernelSpec& spec, Index dimension) : Stationary(spec), dimension_(dimension) {}
  static KernelFacts facts_of(Index dimension) {
    KernelFacts out = Stationary::facts();
    out.states = dimension;
    return out;
  }

 private:
  Index dimension() const override { return dimension_; }
  void observe(VectorRef h) const override { h = Vector::Unit(dimension_, 0); }
  void covariance(double at, MatrixRef P) const override;
  void step(double at, double gap, MatrixRef A, MatrixRef Q) const override;
  void add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;
  double scaled(double gap) const;

  Index dimension_;
};

}  // namespace galvi
