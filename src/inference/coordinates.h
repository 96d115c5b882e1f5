// Ways to write a posterior (mean and covariance of q) as 2 N K numbers, for general optimisers.
#pragma once

#include "model/latent_gaussian_model.h"

namespace galvi {

class Coordinates {
 public:
  virtual ~Coordinates() = default;
  /// The numbers of the posterior it was made from.
  virtual Vector origin() const = 0;
  /// The posterior of other numbers; empty if there is none.
  virtual std::optional<SitePosterior> at(LatentGaussianModel& model, const Vector& x) const = 0;
  /// The gradient of the bound at the posterior at which the solvers are factorised.
  virtual Vector gradient(LatentGaussianModel& model, const SitePosterior& q) const = 0;
};

/// (alpha, lambda), lambda >= 0: gradients Sigma (g - alpha) and -(V o V)(lambda / 2 + g_v)   (000 eq. 9 and
/// 10).
class RawCoordinates final : public Coordinates {
 public:
  explicit RawCoordinates(const SitePosterior& start);
  Vector origin() const override { return origin_; }
  std::optional<SitePosterior> at(LatentGaussianModel& model, const Vector& x) const override;
  Vector gradient(LatentGaussianModel& model, const SitePosterior& q) const override;

 private:
  Vector origin_;
};

/// (b, log lambda) around a posterior, scaled such that the curvature is of order one. As m = V b, a change
/// of lambda moves the mean too: dm = -V diag(d lambda) m.
class NaturalCoordinates final : public Coordinates {
 public:
  NaturalCoordinates(const SitePosterior& start, const Matrix& lambda_floor);
  Vector origin() const override { return Vector::Zero(2 * b_.size()); }
  std::optional<SitePosterior> at(LatentGaussianModel& model, const Vector& x) const override;
  Vector gradient(LatentGaussianModel& model, const SitePosterior& q) const override;

 private:
  const Matrix b_, log_lambda_, scale_b_, scale_log_;
};

}  // namespace galvi
