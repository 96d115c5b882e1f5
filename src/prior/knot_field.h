// Markov processes in time as a field: their states at knots (Hartikainen and Sarkka 2010), of one process or of
// each of several independent ones that share a kernel.
#pragma once

#include "kernel/state_space.h"
#include "prior/field.h"

namespace galvi {

/// More states than this at a knot are too many nodes.
constexpr Index most_knot_states = 8;
/// Small matrices without memory of their own.
using StateMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_knot_states, most_knot_states>;
using StateVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_knot_states, 1>;

/// For each level, M independent processes with the states x_k at the knots t_1 < .. < t_K,
///   x_1 ~ N(0, P),   x_k = A_k x_(k-1) + e_k,   e_k ~ N(0, Q_k),
/// and therefore the precision Q_t (x) I_M with Q_t block tridiagonal,
///   diagonal D_k^-1 + A_(k+1)' D_(k+1)^-1 A_(k+1), below it -D_(k+1)^-1 A_(k+1),   D_1 = P, D_k = Q_k.
/// Nodes are ordered by level, knot, state and process, so that a run of M nodes is one state of all processes.
///
/// Between knots f(t) = h'x(t) is given the states on both sides, and beyond them those at the end: a weight for each
/// state, and a variance that they leave. Precisions of states at gaps far below a lengthscale have few digits: knots are
/// chosen so that they have enough. Where a kernel has parts that do not change, or no innovation (cosine), Q_k gets a
/// jitter relative to P.
class KnotField final : public Field {
 public:
  /// `kernels`: one, or one for each level, of stationary processes; outlive the field and are up to date when it is
  /// updated.
  KnotField(const std::vector<std::unique_ptr<Kernel>>& kernels, Vector knots, Index levels, Index width);

  void update(const ConstVectorRef& hyper) override;
  double jitter() const override { return jitter_; }

  Matrix covariance_times(Context& context, const ConstMatrixRef& X) const override;
  Matrix whitened(Context& context, const ConstMatrixRef& X) const override;
  double log_det(Context& context) const override;
  Vector covariances(Context& context) const override;
  void add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const override;

  Index width() const { return M_; }                // M
  Index most_runs() const { return 2 * d_; }        // of a moment
  Index knots() const { return knots_.size(); }     // K
  Index levels() const { return levels_; }
  Index dimension() const { return d_; }            // d
  /// The first node of a state at a knot.
  Index run(Index level, Index knot, Index state) const { return ((level * knots() + knot) * d_ + state) * M_; }

  /// The first nodes of the runs that give f(t), then -1.   2 d
  Eigen::VectorXi runs_at(double t, Index level) const;
  /// Their weights (2 d), and Var(f(t)) less what they explain.
  double weights_at(double t, Index level, VectorRef a) const;
  /// hyper[h] += the gradient through these.
  void add_weights_gradient(double t, Index level, const ConstVectorRef& d_a, double d_left, VectorRef hyper) const;
  double variance(Index level) const { return h_.dot(of_[level].P * h_); }  // of f(t)
  void add_variance_gradient(Index level, double d_variance, VectorRef hyper) const;

 private:
  struct Level {
    Matrix P;     // d x d
    Matrix A, D;  // d x (K d): a block for each knot
  };
  /// Where a time is: at a knot, between one and the next, before all or after all.
  struct Place {
    enum { at, between, before, after } where;
    Index knot;
  };
  struct Bridge;  // f(t) given the states around it, in cpp

  const StateSpace& space(Index level) const;
  Place place_of(double t) const;
  StateMatrix innovation(const StateMatrix& Q, const Matrix& P) const;
  bool find_steps();
  Bridge bridge(double t, Index level, const Place& place) const;
  StateMatrix block(const Matrix& all, Index k) const { return all.middleCols(k * d_, d_); }
  /// X as levels x knots blocks of d x (M columns).
  template <class F>
  void for_columns(const F& f) const;
  void solve_transposed(Matrix& X) const;

  const std::vector<std::unique_ptr<Kernel>>& kernels_;
  Vector knots_;
  Index levels_, M_, d_;
  Vector h_;
  std::vector<Level> of_;
  double jitter_ = 0;
};

}  // namespace galvi
