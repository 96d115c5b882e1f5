#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Newton's method on a model of how variances follow sites (new here).
///
/// At the last factorisation, lambda_0 with posterior covariance V_0, the mean is m = C alpha exactly and the
/// marginal variances are modelled by 1/v^(lambda) = 1/v_0 + (V_0 o V_0)(lambda - lambda_0) / v_0^2, which is
/// right to first order. The optimality conditions under that model,
///     alpha = dE/dm(m, v^),    log lambda = log(-2 dE/dv(m, v^)),
/// are solved by Newton-GMRES with matrix-vector products alone; then the posterior is factorised there. Two
/// to six factorisations reach the optimum where sites moved one step at a time take dozens.
///
/// A natural-gradient step takes over where the model of the variances is too rough. Products with V o V cost a
/// pass over the rows in the projected solver: there it serves small models.
///
/// Needs a solver with cheap products and a log-concave likelihood (lambda > 0).
InferenceResult newton(LatentGaussianModel& model, const std::optional<Sites>& start,
                       const InferenceControl& control, Trace& trace);

}  // namespace galvi
