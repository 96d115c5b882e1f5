// A posterior as unconstrained numbers that keep their meaning while hyperparameters move.
#pragma once

#include <memory>

#include "model/latent_gaussian_model.h"

namespace galvi {

class PosteriorNumbers {
 public:
  virtual ~PosteriorNumbers() = default;
  virtual Vector origin() const = 0;
  /// The bound at the model's current hyperparameters, and its gradients: in the numbers, and on the natural
  /// scale in the whole table. Minus infinity where there is no posterior.
  virtual double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) = 0;
  /// The q that bound() saw last, or one natural-gradient step further.
  virtual Start start() const = 0;
};

/// Around a posterior at which the model's solvers are factorised: mean and factor of the whitened latent
/// vectors where these determine it, else sites. hypers: length of the table.
std::unique_ptr<PosteriorNumbers> numbers_around(LatentGaussianModel& model, const Posterior& start,
                                                 Index hypers);

}  // namespace galvi
