// Means under independent latent values of what a softmax is made of.
#pragma once

#include "function/softmax.h"

namespace galvi {

/// E p and E[diag(p) - p p'], minus the Hessian of log p(y | eta), of one trial under eta_k ~ N(mean_k,
/// variance_k), where every class has a latent value.   K; K; K; K x K
void softmax_moments(const double* mean, const double* variance, VectorRef probability, MatrixRef curvature);

}  // namespace galvi
