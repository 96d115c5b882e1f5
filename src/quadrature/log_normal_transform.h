// The Laplace transform of a log-normal variable, of which the expectation of a softmax is an integral.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// F_q(t) = E s^q exp(-s), log s ~ N(t, variance), q = 0, 1, 2, at the nodes t_i = first + i step, i >= 0,
/// accurate to 1e-12.   dF_0/dt = -F_1,   d^2 F_0/dt^2 = F_2 - F_1.
///
/// Gaussian blurs add up: F_q of a variance v is that of v_b < v, blurred by N(0, v - v_b). There is a table
/// of F_q for one v_b in every factor sqrt(2) of variances, computed from the tables before it, so that a
/// value costs some 35 products whatever the variance is. Smaller variances use a series in the variance.
class LogNormalTransform {
 public:
  static constexpr Index block = 32;

  /// Left of -left(variance) 1 - F_0 = F_1 = tail(t, variance) up to 1e-14.
  static double left(double variance);
  /// Right of this F_0 and F_1 are negligible relative to 1.
  static double right(double variance);
  /// E s = exp(t + variance / 2), or 0 where F_1 is smaller than any such term.
  static double tail(double t, double variance);

  /// `step`: a power of 2. `relative`: small values are accurate relative to themselves, at the cost of more
  /// products.
  void place(double first, double step, double variance, bool relative);
  /// f[q][i] = F_q(t_{from + i}), i < count <= block, q < orders; orders: 2 or 3.
  void evaluate(Index from, Index count, int orders, double* const* f);

 private:
  struct Table;
  static const std::vector<Table>& tables();
  static Table sample(double least, double most, const std::vector<Table>& smaller);

  void place_on(const std::vector<Table>& tables, double first, double step, double variance, bool relative);
  void place_table(const Table& table, bool relative);
  void place_series();
  Index nodes_before(double t) const;
  void expand(Index from, Index count, int orders, double* const* f) const;
  void sum_series(Index from, Index count, int orders, double* const* f) const;
  void convolve(Index from, Index count, int orders, double* const* f);
  void weigh(Index phase, double* weights) const;
  double position(Index phase) const { return start_ + static_cast<double>(phase) / phases_; }

  double first_ = 0.0, step_ = 1.0, variance_ = 0.0;
  Index inner_ = 0, end_ = 0;  // nodes left of inner_ are tails, from end_ on F_q is 0

  const Table* table_ = nullptr;  // null where the series is used
  double scale_ = 1.0;            // factor of t, where the variance is beyond all tables
  // Node inner_ + i is at position(i % phases_) + stride_ (i / phases_), in table nodes.
  Index phases_ = 1, stride_ = 1, taps_ = 0;
  double start_ = 0.0, blur_ = 0.0;  // blur_: variance in squared table nodes
  std::vector<double> weights_;      // taps_ for each phase, or for one if there are many

  int degree_ = 0;
  double series_[3][13];  // coefficients of s^j
};

}  // namespace galvi
