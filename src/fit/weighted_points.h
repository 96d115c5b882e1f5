// The joint posterior of coefficients and hyperparameters by weighted points. With few unknowns the Gaussian q need not
// be believed: evenly spread points (fit/importance.h) are weighted by the joint density.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "fit/importance.h"
#include "fit/unknowns.h"
#include "hyper/table.h"

namespace galvi {

struct WeightedPoints : PointsQuality {
  Matrix coefficients;  // S x L
  Matrix hyper;         // of the learned ones, on the unconstrained scale.   S x d
  Vector weight;        // S, of sum one
};

/// @param table With proper priors of all that moves. It keeps its values, and so does the model.
/// @param free Which of the learned hyperparameters move; the others stay.   m
/// @param start Where the first round's points are: the coefficients, then the hyperparameters that move.   L + m
/// @param another Makes the model's likelihood once more, for another thread; null where there is only one thread.
/// Empty where a round has no point with a density.
std::optional<WeightedPoints> weighted_points(const Unknowns& unknowns, HyperTable& table,
                                              const std::vector<Index>& free, CoefficientGaussian start,
                                              const std::function<std::unique_ptr<Likelihood>()>& another);

/// Is a model of so many unknowns and rows within what weighted points are for?
bool takes_points(Index unknowns, Index rows);

/// The most unknowns.
constexpr Index most_unknowns = 32;

}  // namespace galvi
