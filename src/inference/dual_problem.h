// The dual of the variational problem (001), its derivatives, and the posterior that each point gives.
#pragma once

#include <vector>

#include "model/latent_gaussian_model.h"

namespace galvi {

/// A point of the dual is one number x per observation and latent (DualLine): x is lambda, from which alpha
/// follows, except for the gaussian, whose lambda is fixed and whose x is alpha. All matrices are N x K.
struct DualPoint {
  Matrix x;
  double value;      // D
  double magnitude;  // of the terms that D is the sum of
  Matrix gradient;   // of D
  Matrix curvature;  // the Hessian of sum f* is diag(curvature), and 1 1' / rest within each row
  Vector rest;       // N
  Matrix variance;
  std::optional<SitePosterior> posterior;  // of (alpha, lambda); empty where its bound has overflown
  double gap;                          // D less that bound; infinite without it
};

/// D = alpha' C alpha / 2 + m0' alpha - lambda' c / 2 - log|Sigma A| / 2 + sum f*(alpha, lambda) with m0 the
/// prior mean of eta   (001, eq. 20). alpha has the sign of sites, mean = C alpha, which is minus the
/// paper's. D is an upper bound on what any posterior's bound can be, and its minimum is their maximum.
class DualProblem {
 public:
  explicit DualProblem(LatentGaussianModel& model);

  /// The sites that dE/dm and dE/dv of a posterior ask for, moved inside the domain.
  Matrix start(const SitePosterior& posterior) const;
  /// Empty where x is not inside or numbers overflow. The solvers end factorised there.
  std::optional<DualPoint> at(const Matrix& x);

  /// Hessian times direction where the solvers are factorised: C, what f* adds and, on request, the
  /// (V o V) / 2 of log|Sigma A|.
  Matrix curve(const DualPoint& point, const Matrix& direction, bool variances) const;
  /// The inverse of that Hessian's diagonal and of f*'s rank-one terms, times residual.
  Matrix precondition(const DualPoint& point, const Matrix& residual, bool variances) const;
  /// Without the part along sums over classes that f* holds, along which x cannot move.
  Matrix tangent(const Matrix& gradient) const;
  /// How often `direction` can be gone along before 99% of the way out of the domain is gone (001, eq. 26).
  double room(const DualPoint& point, const Matrix& direction) const;
  /// Direction with every entry that would leave the domain stopped by itself, at 99% of its way.
  Matrix stopped(const DualPoint& point, const Matrix& direction) const;

 private:
  bool is_free(Index n, Index k) const { return lower_(n, k) < upper_(n, k); }
  double row_room(const DualPoint& point, const Matrix& direction, Index n) const;
  bool add_conjugates(DualPoint& point, Vector& conjugate) const;
  Matrix product(Vector (Solver::*verb)(const Vector&) const, const Matrix& x) const;

  LatentGaussianModel& model_;
  Matrix alpha0_, alpha1_, lambda0_, lambda1_, lower_, upper_;  // with weights
  enum class Sum { any, below, held };  // of x over the latents of a row, against its weight
  std::vector<Sum> sums_;
  Matrix extra_, prior_;  // c, diag(C)
};

}  // namespace galvi
