// Integrals over u of products of the classes' Laplace transforms.
#pragma once

#include <vector>

#include "function/softmax.h"
#include "quadrature/log_normal_transform.h"

namespace galvi {

/// With S = sum_c exp(eta_c), phi_c(u) = E exp(-exp(u + eta_c)) and independent eta_c ~ N(m_c, v_c),
///   E log S = int [exp(-e^u) - prod_c phi_c(u)] du,   as log S = int [exp(-x) - exp(-x S)] / x dx,
///   E p_c = int E[x exp(-x)] prod_{j != c} phi_j(u) du,   x = exp(u + eta_c).
/// The trapezium sum over the nodes first + i step has an error of about exp(-v' w^2 / 2) |Gamma(1 + iw)|, w
/// = 2 pi / step, 1 / v' = sum_c 1 / v_c: v' is the variance that all eta_c have in common. Nodes come in
/// blocks from left to right. Left of them products have one term, E exp(u + eta_c), whose geometric sum is
/// `tail`. All is in units of exp(shift), shift the largest mean.
class SoftmaxLattice {
 public:
  static constexpr Index block = LogNormalTransform::block;
  using Column = Eigen::Array<double, block, 1>;
  using Columns = Eigen::Array<double, block, Eigen::Dynamic>;

  /// `extra`: how much further left the nodes begin than the sums' accuracy needs. `relative` as in
  /// LogNormalTransform.
  void place(const Softmax& classes, const double* mean, const double* variance, bool relative,
             double extra = 0.0);
  /// The next block of nodes; orders: 2 for F_0 and F_1 alone, else 3.
  void next(int orders);

  Index classes() const { return static_cast<Index>(transforms_.size()); }
  double shift = 0.0, first = 0.0, step = 0.0;
  double nodes = 0.0;        // their approximate number
  std::vector<double> tail;  // per class, sum of step E exp(u + eta_c) over the nodes left of `first`
  Columns f[3];              // F_q of u + eta_c
  Columns rate;              // F_1 / F_0
  Column weight;             // step times the product of F_0

 private:
  std::vector<LogNormalTransform> transforms_;
  Index done_ = 0;
};

}  // namespace galvi
