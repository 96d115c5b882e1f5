// Kernels of one input whose process is Markov: f = h'x, where the state x is a Gaussian Markov process of d
// dimensions, stationary with covariance P, and
//   x(t + gap) = A(gap) x(t) + e,   e ~ N(0, Q(gap)).
// Q is never P - A P A', which has no digits left at small gaps.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// At the present hyperparameters of a kernel, of which it is a view. Functions may run on several threads.
class StateSpace {
 public:
  /// More dimensions than this cost more than dense matrices do at most sizes.
  static constexpr Index most_dimensions = 16;

  virtual ~StateSpace() = default;
  virtual Index dimension() const = 0;  // d
  /// Appends the sizes of the blocks that P, A and Q have on their diagonals; all else is zero.
  virtual void add_blocks(std::vector<Index>& sizes) const { sizes.push_back(dimension()); }
  virtual void observe(VectorRef h) const = 0;
  virtual void stationary(MatrixRef P) const = 0;
  /// gap >= 0.   A, Q: d x d
  virtual void step(double gap, MatrixRef A, MatrixRef Q) const = 0;
  /// hyper[h] += G : dP/dh, natural scale.
  virtual void add_stationary_gradient(const ConstMatrixRef& G, VectorRef hyper) const = 0;
  /// hyper[h] += G_A : dA/dh + G_Q : dQ/dh for this gap. G_Q is symmetric.
  virtual void add_step_gradient(double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                                 VectorRef hyper) const = 0;
};

/// A small matrix without memory of its own.
using StateMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, StateSpace::most_dimensions,
                                  StateSpace::most_dimensions>;
using StateVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, StateSpace::most_dimensions, 1>;

/// The sum of independent processes: their states one after the other. All functions take the parts' spaces.
class SumSpace final : public StateSpace {
 public:
  SumSpace(const StateSpace& first, const StateSpace& second) : first_(first), second_(second) {}
  Index dimension() const override { return first_.dimension() + second_.dimension(); }
  void add_blocks(std::vector<Index>& sizes) const override {
    first_.add_blocks(sizes);
    second_.add_blocks(sizes);
  }
  void observe(VectorRef h) const override;
  void stationary(MatrixRef P) const override;
  void step(double gap, MatrixRef A, MatrixRef Q) const override;
  void add_stationary_gradient(const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;

 private:
  const StateSpace &first_, &second_;
};

/// A process whose covariance is the product of two: all products of their states' elements, with
///   A = A_1 (x) A_2,  P = P_1 (x) P_2,  Q = Q_1 (x) P_2 + (A_1 P_1 A_1') (x) Q_2.
class ProductSpace final : public StateSpace {
 public:
  ProductSpace(const StateSpace& first, const StateSpace& second) : first_(first), second_(second) {}
  Index dimension() const override { return first_.dimension() * second_.dimension(); }
  void add_blocks(std::vector<Index>& sizes) const override;
  void observe(VectorRef h) const override;
  void stationary(MatrixRef P) const override;
  void step(double gap, MatrixRef A, MatrixRef Q) const override;
  void add_stationary_gradient(const ConstMatrixRef& G, VectorRef hyper) const override;
  void add_step_gradient(double gap, const ConstMatrixRef& G_A, const ConstMatrixRef& G_Q,
                         VectorRef hyper) const override;

 private:
  const StateSpace &first_, &second_;
};

}  // namespace galvi
