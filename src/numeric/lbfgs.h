// L-BFGS and L-BFGS-B by LBFGS++ behind one function, so that its headers are compiled once.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "numeric/types.h"

namespace galvi {

/// Value at x, gradient written. May return infinity where x is not acceptable, and throw Enough to stop.
using Objective = std::function<double(const Vector& x, Vector& gradient)>;

/// Thrown by an objective that knows the current x to be good enough.
struct Enough {};

struct LbfgsControl {
  int max_iterations = 200;
  double gradient_tolerance = 1e-8;  // on the largest entry of the projected gradient
  double value_tolerance = 0;  // on the change of the value over three iterations, relative to max(1, |value|)
  int memory = 10;
  int patience = 200;  // evaluations in a row that lower the value by 1e-10 of itself or less
  double max_step = 1e20;  // of Newton's searches the longest step, of L-BFGS the largest multiple of its own
  /// Of each coordinate between bounds: where a step would be longer L-BFGS-B restarts from the best point, within so much
  /// of it. Empty: none is too long.
  Vector longest = {};
  double curvature = 0;  // the order of the largest; if given, a search ends where gradients are rounding errors
};

/// Where the value changes by its own rounding error, the gradient changes by the root of that times twice the
/// curvature. A sum of many terms is accurate to one digit less than the last.
double gradient_of_rounding(double value, double curvature);

struct LbfgsResult {
  Vector x;  // the best point seen
  double value = std::numeric_limits<double>::infinity();
  int evaluations = 0;
  bool converged = false;  // by a tolerance or by Enough; not where the search stalled
  bool ended_early = false;  // by the number of iterations
};

/// Minimises within lower <= x <= upper; empty bounds mean none.
LbfgsResult minimise(const Objective& objective, const Vector& start, const Vector& lower,
                     const Vector& upper, const LbfgsControl& control);

}  // namespace galvi
