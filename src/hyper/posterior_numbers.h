// A posterior as plain numbers that stay meaningful while hyperparameters move.
#pragma once

#include <memory>

#include "model/latent_gaussian_model.h"

namespace galvi {

class PosteriorNumbers {
 public:
  virtual ~PosteriorNumbers() = default;
  virtual Vector origin() const = 0;
  /// The bound at the model's present hyperparameters, and its gradients: in the numbers, and on the natural
  /// scale in the whole table. Minus infinity where there is no posterior.
  virtual double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) = 0;
  /// Sites of what bound() saw last, or one natural-gradient step away from it.
  virtual Sites sites() const = 0;
};

/// Around a posterior that the model's solvers are factorised at: mean and factor of the whitened latent
/// vectors where it is of these, else sites. hypers: length of the table.
std::unique_ptr<PosteriorNumbers> numbers_around(LatentGaussianModel& model, const Posterior& start,
                                                 Index hypers);

}  // namespace galvi
