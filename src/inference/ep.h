#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Expectation propagation with damped parallel updates, for log-concave likelihoods with K = 1: a reference
/// for the variational methods.
///
/// Site n stands for p(y_n | eta_n)^w: with all else as the cavity N(m_c, v_c), it matches mean and variance
/// of cavity times p^w. SitePosterior::elbo is EP's estimate of the log evidence, not a bound. Stationarity::norm
/// is the size of an undamped update of q, measured like a natural-gradient step.
SiteResult ep(LatentGaussianModel& model, const std::optional<Sites>& start, const InferenceControl& control,
              Trace& trace);

/// d estimate / d hyper (natural scale) at the fixed point, where the sites may be treated as fixed: the
/// prior's part is that of a bound at its maximum, the likelihood's the mean of d log p / d hyper under
/// cavity times p^w.
Vector ep_gradient(LatentGaussianModel& model, const SitePosterior& posterior, Index hypers);

}  // namespace galvi
