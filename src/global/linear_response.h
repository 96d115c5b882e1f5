// Covariances by linear response: what a Gaussian leaves out of skew posteriors and of latent values that depend on
// each other.
#pragma once

#include <string>
#include <vector>

#include "numeric/context.h"
#include "numeric/types.h"
#include "quadrature/class_points.h"

namespace galvi {

/// Expectations under q of the third and fourth derivatives of sum_n log p(y_n | eta_n) by the K latent values of
/// each row, first index fastest.
struct HigherDerivatives {
  Matrix third;   // N x K^3
  Matrix fourth;  // N x K^4
};

/// Those of a softmax, minus the joint cumulants of the indicators of its classes, by the K differences of the other
/// classes' latent values to that of the reference or, where every class has its own, of the last class.
/// @param mean N x latent values. between: covariances of each row's latent values, N x their number squared.
/// copies: trials times weight, N.
/// @param exponent As in ClassRule.
HigherDerivatives softmax_derivatives(Context& context, const ClassRule& rule, const Matrix& mean,
                                      const Matrix& between, const Vector& copies, double exponent);

/// One latent value of all rows as a function of some of the L coefficients: W times those from `first` on.
struct LatentColumns {
  const Matrix* W;  // N x their number
  Index first;
};

struct LinearResponse {
  Matrix covariance;    // L x L; empty where it is refused
  double radius = 0;    // largest eigenvalue of B / 2 + A'A / 2, see below: at one q is no maximum
  Index worst = 0;      // the coefficient whose variance grows most or, where it is refused, has no limit
  std::string refused;  // why, in a sentence without capital and full stop
};

/// The covariance of coefficients as the change of their posterior mean if a linear function is added to the log
/// posterior. For the exact posterior this is the covariance; for a Gaussian q at the maximum of the bound it has the
/// skewness that q itself leaves out (Giordano, Broderick and Jordan 2018, Journal of Machine Learning Research
/// 19(51)). Where q is at a maximum it is at least V. With V = R R' and a tilt t the mean moves by R x and the
/// covariance by R X R', where
///   x = R't + A X / 2,   X = B X / 2 + A'x,
///   A X = sum_n Z_n'(F3_n : Z_n X Z_n'),   B X = sum_n Z_n'(F4_n : Z_n X Z_n') Z_n,   Z_n = W_n R,
/// so that (I - B / 2 - A'A / 2) X = A'R't: conjugate gradients for one tilt for each coefficient, all at once. Their
/// steps are Lanczos' too, which gives the radius.
/// @param latents The K latent values. covariance: V, of all coefficients.
/// @param tolerance Of the residuals, relative to the tilts R't.
LinearResponse linear_response(Context& context, const std::vector<LatentColumns>& latents,
                               const HigherDerivatives& derivatives, const Matrix& covariance,
                               double tolerance = 1e-4);

/// Its approximate cost in flops: N rows, L coefficients, K latent values.
double linear_response_flops(Index N, Index L, Index K);

}  // namespace galvi
