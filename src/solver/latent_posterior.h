// A Gaussian over a short latent vector: all that passes over the rows need to know about q.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "numeric/context.h"
#include "prior/prior.h"

namespace galvi {

/// q(u) = N(mean, A^-1) of one predictor's whitened columns u (prior/prior.h).
struct LatentPosterior {
  Vector mean;       // L
  Matrix precision;  // A, both triangles
  Matrix root;       // U lower triangular with A^-1 = U'U
  double log_det;    // log|A|

  /// diag(A^-1).   L
  Vector variances() const { return root.cwiseAbs2().colwise().sum().transpose(); }
  Vector solve(const Vector& h) const;  // A^-1 h
  /// W' Lambda W of the sites that this posterior corresponds to.
  Matrix curvature(const Prior& prior) const;
  double kl_of_mean(const Prior& prior) const;        // m' P m / 2
  double kl_of_covariance(const Prior& prior) const;  // a flat direction counts with density 1
  /// The rounding error of the determinant and the trace.
  double rounding() const;
};

/// Empty where A is not positive definite. Throws std::domain_error where columns with a flat prior are
/// collinear.
std::optional<LatentPosterior> make_latent_posterior(Context& context, const Prior& prior, Vector mean,
                                                     Matrix precision);
/// The same with the mean A^-1 h.
std::optional<LatentPosterior> posterior_of_sums(Context& context, const Prior& prior, const Vector& h,
                                                 Matrix precision);

/// Of coefficients with this mean and lower factor of their covariance, as a fit keeps them. Throws
/// std::invalid_argument where the prior has another number of them.
std::optional<LatentPosterior> whitened_posterior(Context& context, const Prior& prior, const Vector& mean,
                                                  const Matrix& chol);

/// Of all predictors: K.
using GlobalPosterior = std::vector<LatentPosterior>;

}  // namespace galvi
