// The mode of the posterior of the hyperparameters, and the normal distribution around it.
#pragma once

#include <functional>
#include <optional>

#include "fit/fit.h"

namespace galvi {

/// Where the posterior of the hyperparameters is.
struct Mode {
  Fit fit;
  State state;
  std::optional<HyperPosterior> posterior;
  Matrix slope;  // of the means asked for in what is free there; empty where it is not known.   L x m
};

/// The means of a posterior whose slopes are wanted, as one vector.
using MeansOf = std::function<Vector(const Posterior& q)>;

/// From the result of the search. proper: with weak priors where the search had none. `means` may be empty. Table and model
/// end at the mode.
Mode mode_of(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const FitResult& found,
             bool proper, const MeansOf& means);

/// The coefficients of terms with columns, all of them one after the other.
Vector column_means(const State& state);

/// Are standard deviations some per cent too small given the hyperparameters: because one of these is known badly on the
/// log scale, as a variance that is estimated as zero is, or because it moves coefficients, as the variance of groups moves
/// the intercept of small counts? The mode's slope is that of column_means().
bool is_uncertain(const Mode& mode, const HyperTable& table);

/// The joint Gaussian of coefficients and of what is free, of which the coefficients' means are linear functions.
/// given: the coefficients at the mode
CoefficientGaussian joint_at_mode(const Mode& mode, const CoefficientGaussian& given);

}  // namespace galvi
