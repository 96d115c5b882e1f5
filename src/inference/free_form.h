// A Gaussian q(z~) = N(u, S S') of a whitened latent vector as unconstrained numbers, without sites.
#pragma once

#include "solver/solver.h"

namespace galvi {

/// The numbers are t and the lower triangular R, by columns and with the logarithm of its diagonal: u = u_0 +
/// P t and S = P R around a base (u_0, P), L + L (L + 1) / 2 of them. Initially P = I; rebase() sets P to the
/// current S, in whose units the bound's curvature is of order one. All products are of matrices: 2 N L^2
/// flops for mean, variances and gradient.
class FreeForm {
 public:
  /// The posterior of the sites (lambda, b).   N each
  FreeForm(Context& context, const Solver& solver, const Vector& lambda, const Vector& b);

  Index size() const { return R_.rows() + R_.rows() * (R_.rows() + 1) / 2; }
  void write(double* x) const;
  void read(const double* x);
  /// The same q with itself as the base: t = 0, R = I.
  void rebase();

  Vector mean() const { return base_mean_ + design_ * t_; }  // of f = W~ z~
  Vector variance() const;
  /// KL(q || N(0, I)); also prepares its derivative for write_gradient().
  double kl();
  /// d (sum E - KL) / d numbers from dE/dm and dE/dv. Returns the squared norm of the gradient in (u, S):
  /// half of it bounds the distance to the optimum of a bound that is concave in the mean and factor of eta.
  double write_gradient(const Vector& d_mean, const Vector& d_variance, double* gradient);

 private:
  Index diagonal(Index j) const { return R_.rows() * (j + 1) - j * (j - 1) / 2; }  // of log R_jj

  Context& context_;
  Vector extra_;
  Matrix design_;     // W~ P
  bool triangular_;   // so is design_
  Vector base_;       // u_0
  Matrix scale_;      // P, or empty for I
  Matrix metric_;     // P' P
  Vector base_mean_;  // W~ u_0
  Vector t_;
  Matrix R_, root_;  // root_ = W~ S
  Vector u_;
  Matrix metric_R_;  // lower triangle of P' P R
};

}  // namespace galvi
