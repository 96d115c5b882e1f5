// What a solver with a short latent vector offers beside sites: any Gaussian of the whitened z~.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// q(z~) = N(u, S S'), S lower triangular, where the prior is N(0, I).   u: L, S: L x L
struct LatentGaussian {
  Vector u;
  Matrix S;
};

/// d sum E / d (u, S) through the marginals: W~' dE/dm and 2 W~' diag(dE/dv) W~ S.   L, L x L
struct LatentSlope {
  Vector in_u;
  Matrix in_S;
};

/// O(L^2) numbers and two passes over the rows, whatever N.
class LatentForm {
 public:
  virtual ~LatentForm() = default;
  /// The posterior that the solver is factorised at.   b: N
  virtual LatentGaussian of_sites(const Vector& b) = 0;
  /// Mean of f, variance of eta.   N each
  virtual void marginals(const LatentGaussian& q, Vector& mean, Vector& variance) const = 0;
  /// hyper[h] += d bound / dh through the prior with q held, natural scale.
  virtual LatentSlope slope(const LatentGaussian& q, const Vector& d_mean, const Vector& d_variance,
                            VectorRef hyper) const = 0;
  /// While held, z~ keeps its meaning from one update() to the next, as far as hyperparameters let it.
  virtual void hold_basis(bool held) = 0;
};

}  // namespace galvi
