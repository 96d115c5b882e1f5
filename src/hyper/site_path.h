// Where inference may start at hyperparameters near others where it has ended.
#pragma once

#include <vector>

#include "hyper/table.h"
#include "model/posterior.h"

namespace galvi {

/// The optimal sites are a smooth function of the hyperparameters: those at new ones are extrapolated, linearly, from the
/// last ones found. The error is then of second order in the move, and a step or two of inference are saved.
class SitePath {
 public:
  /// Inference ended at these sites; x: hyperparameters on the unconstrained scale. `best`: of all so far.
  void add(const Vector& x, const Start& found, bool best);
  /// Where to start at x; `fallback` where there is nothing to extrapolate from.
  Start start_at(const Vector& x, const Start& fallback) const;

 private:
  struct Point {
    Vector x;
    Sites sites;
  };
  std::vector<Point> points_;  // the best one first
};

}  // namespace galvi
