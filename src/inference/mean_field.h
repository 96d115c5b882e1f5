#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// The mean-field method for probit models (002, section 3.1). Every observation gets a latent g ~ N(eta, 1)
/// whose sign is y; f is integrated out given g, and q(g) is a product (eq. 11: truncated Gaussians with free
/// a_n). SitePosterior::elbo is the bound of eq. 12 on log p(y); it lies above the two_stage expectation's (002,
/// eq. 14), which corresponds to q(f) q(g), and is exact for a single observation.
///
/// The sites' lambda is 1 per observation and fixed: one factorisation, then products with V alone. A row of
/// weight w, or a count out of w trials, has w latents. The posterior of f is that of the sites, the Gaussian
/// approximation that the paper predicts with.
SiteResult mean_field(LatentGaussianModel& model, const std::optional<Sites>& start,
                      const InferenceControl& control, Trace& trace);

/// d bound / d hyper (natural scale) at the best q(g).
Vector mean_field_gradient(LatentGaussianModel& model, const SitePosterior& posterior, Index hypers);

/// Empty if log p is a sum of terms log Phi, each with a whole number of copies.
std::string mean_field_refuses(const LatentGaussianModel& model);

}  // namespace galvi
