#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Newton's method on a model of how variances follow sites (new here).
///
/// At the last factorisation, lambda_0 with posterior covariance V_0, the mean m = C alpha is exact and the
/// marginal variances are modelled by 1/v^(lambda) = 1/v_0 + (V_0 o V_0)(lambda - lambda_0) / v_0^2, which is
/// correct to first order. The optimality conditions under this model,
///     alpha = dE/dm(m, v^),    log lambda = log(-2 dE/dv(m, v^)),
/// are solved by Newton-GMRES with matrix-vector products alone; then the posterior is factorised there. Two
/// to six factorisations reach the optimum where moving sites one step at a time takes dozens.
///
/// A natural-gradient step takes over where the model of the variances is too rough. In the projected solver
/// each product with V o V is a pass over the rows: there it is for small models.
///
/// Needs a solver with cheap products and a log-concave likelihood (lambda > 0).
SiteResult newton(LatentGaussianModel& model, const std::optional<Sites>& start,
                  const InferenceControl& control, Trace& trace);

}  // namespace galvi
