// Adaptive importance sampling without random numbers: evenly spread points of a t distribution are weighted by a density,
// so that a normal one has its own moments, and theirs are the next round's centre and covariance. How little they move,
// how many points the weights leave and the weights' tail say whether to believe them.
#pragma once

#include <functional>
#include <optional>

#include "numeric/context.h"

namespace galvi {

struct PointsQuality {
  int rounds = 0;
  double moved = 0;       // largest relative change of an sd by the last round
  double efficiency = 0;  // the share of the points that as precise a sample of the density would have
  double tail = 0;        // shape of the Pareto distribution of the largest weights
  bool believed() const;
  /// So far from it that nothing should be read from them.
  bool hopeless() const;
};

/// Where points are.
struct ImportanceStart {
  Vector mean;  // D
  Matrix root;  // R R' is the covariance; points move with the columns of R
};

struct ImportancePoints : PointsQuality {
  Matrix X;              // S x D
  Vector weight;         // S, of sum one
  ImportanceStart next;  // by their moments
};

struct ImportanceControl {
  Index points = 4000;   // S, an even number
  Index scales = 0;      // the last so many of the D are logarithms of scales, whose densities have long tails
  double enough = 0.02;  // rounds end when they change sds by less
  int rounds = 12;       // most
  int patience = 2;      // rounds before hopeless points end them
};

/// Empty where a round has no point with a density.   log_density: many points at a time, up to a constant; -infinity
/// where it is zero
std::optional<ImportancePoints> importance_points(Context& context, ImportanceStart start,
                                                  const std::function<Vector(const Matrix& X)>& log_density,
                                                  const ImportanceControl& control);

}  // namespace galvi
