// Kernels of one input whose process is Markov: f = h'x, where the state x is a Gaussian Markov process of d
// dimensions with covariance P(t), and
//   x(t + gap) = A(t, gap) x(t) + e,   e ~ N(0, Q(t, gap)).
// Q is never P - A P A', which has no digits left at small gaps.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// At the present hyperparameters of a kernel, of which it is a view. Functions may run on several threads.
class StateSpace {
 public:
  virtual ~StateSpace() = default;
  virtual Index dimension() const = 0;  // d
  /// Sizes of the diagonal blocks that A, P and Q have in common, in the order of the states.
  virtual std::vector<Index> blocks() const { return {dimension()}; }
  /// From this input on a step depends on its gap alone, before it on where it begins as well. If it is -infinity the
  /// process is stationary: P does not depend on the input.
  virtual double regular_from() const { return -std::numeric_limits<double>::infinity(); }
  bool stationary() const { return regular_from() == -std::numeric_limits<double>::infinity(); }
  virtual void observe(VectorRef h) const = 0;
  virtual void covariance(double at, MatrixRef P) const = 0;
  /// gap >= 0.   A, Q: d x d
  virtual void step(double at, double gap, MatrixRef A, MatrixRef Q) const = 0;
  /// hyper[h] += G : dP/dh, natural scale.
  virtual void add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const = 0;
  /// hyper[h] += G_A : dA/dh + G_Q : dQ/dh for this step. G_Q is symmetric.
  virtual void add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                 VectorRef hyper) const = 0;
};

/// The sum of independent processes: their states one after the other. All functions take the parts' spaces.
class SumSpace final : public StateSpace {
 public:
  SumSpace(const StateSpace& first, const StateSpace& second) : first_(first), second_(second) {}
  Index dimension() const override { return first_.dimension() + second_.dimension(); }
  std::vector<Index> blocks() const override;
  double regular_from() const override { return std::max(first_.regular_from(), second_.regular_from()); }
  void observe(VectorRef h) const override;
  void covariance(double at, MatrixRef P) const override;
  void step(double at, double gap, MatrixRef A, MatrixRef Q) const override;
  void add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;

 private:
  const StateSpace &first_, &second_;
};

/// A process whose covariance is the product of two: all products of their states' elements, those of one pair of
/// blocks after those of another, each with
///   A = A_1 (x) A_2,  P = P_1 (x) P_2,  Q = Q_1 (x) P_2(t + gap) + (A_1 P_1(t) A_1') (x) Q_2.
class ProductSpace final : public StateSpace {
 public:
  ProductSpace(const StateSpace& first, const StateSpace& second) : first_(first), second_(second) {}
  Index dimension() const override { return first_.dimension() * second_.dimension(); }
  std::vector<Index> blocks() const override;
  double regular_from() const override {
    const double never = std::numeric_limits<double>::infinity();
    return first_.stationary() && second_.stationary() ? -never : never;
  }
  void observe(VectorRef h) const override;
  void covariance(double at, MatrixRef P) const override;
  void step(double at, double gap, MatrixRef A, MatrixRef Q) const override;
  void add_covariance_gradient(double at, const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double at, double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;

 private:
  template <class Visit>
  void for_pairs(const Visit& visit) const;

  const StateSpace &first_, &second_;
};

}  // namespace galvi
