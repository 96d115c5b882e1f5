// States of the hyperparameters of models that are Gaussian given them, by their marginal likelihood: it costs no more
// than a factorisation of the coefficients' precision, so that thousands of points (fit/importance.h) say where the
// states of an integration are and what they weigh. Few groups give variances posteriors with long tails, which a
// composite design misses.
#pragma once

#include "fit/hyper_posterior.h"
#include "fit/unknowns.h"

namespace galvi {

struct MarginalStates {
  Matrix z;       // in units of the posterior's axes, the mode first.   S x m
  Vector weight;  // of sum one
};

/// Empty where points would take long or are not to be believed.
/// @param model With a conjugate likelihood of one latent value.
/// @param table At the mode. Model and table end at other hyperparameters.
std::optional<MarginalStates> marginal_states(LatentGaussianModel& model, HyperTable& table,
                                              const HyperPosterior& posterior);

}  // namespace galvi
