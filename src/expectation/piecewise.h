// The piecewise linear and quadratic bound on the logistic log likelihood (000, section 4).
#pragma once

#include <vector>

#include "expectation/function_mean.h"

namespace galvi {

/// f(x) = -llp(-x) >= -B(-x), llp(x) = log(1 + exp(x)), where B >= llp has linear and quadratic pieces, so
/// that its Gaussian mean is a sum over knots. B is the best bound that is continuous
/// (data-raw/llp_pieces.R), and as such convex: the precision -2 dE / dv = E B'' is never negative and the
/// ELBO has one optimum.
class Piecewise final : public FunctionMean {
 public:
  /// pieces: 3 to 20.
  explicit Piecewise(int pieces);
  std::string name() const override { return "piecewise"; }
  const StandardFunction& function() const override { return log_sigmoid(); }
  void evaluate(double sign, double mean, double variance, int order, PointExpectation& out) const override;

 private:
  struct Knot {
    double at;
    double bend;       // jump of B''
    double curvature;  // B'' from here to the next knot
    double kink;       // jump of B'
  };
  /// out[k] = E B^(k)(x), k = 0..2 (order 1) or 0..4 (order 2), for mean <= 0.
  void means(double mean, double variance, int order, double out[5]) const;
  void at_point(double x, double out[5]) const;

  double constant_;  // B far on the left
  std::vector<Knot> knots_;
};

}  // namespace galvi
