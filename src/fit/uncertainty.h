// What is uncertain beside q at the estimated hyperparameters: these, and how latent values depend on each other.
#pragma once

#include "fit/fit.h"

namespace galvi {

/// Finds the posterior of the hyperparameters, and with it the joint posterior of all that is uncertain, by the first of
/// these ways that is worth its time and can be believed: weighted points, a joint Gaussian with linear response, states.
/// learned: the table at the best hyperparameters. Throws std::domain_error where an integration that was asked for has no
/// end.
void find_uncertainty(LatentGaussianModel& model, const HyperTable& learned, const Plan& plan,
                      FitResult& out);

}  // namespace galvi
