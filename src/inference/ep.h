#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Expectation propagation, all sites at once and damped, for log-concave likelihoods with K = 1: a
/// yardstick.
///
/// Site n stands for p(y_n | eta_n)^w: with everything else as the cavity N(m_c, v_c), mean and variance of
/// the product are those of cavity times p^w. Posterior::elbo is EP's estimate of the log evidence, no
/// bound. Stationarity::norm measures how far an undamped update would move q, as a natural-gradient step is
/// measured.
InferenceResult ep(LatentGaussianModel& model, const std::optional<Sites>& start,
                   const InferenceControl& control, Trace& trace);

/// d estimate / d hyper (natural scale) at the fixed point, where the sites may be held: the prior's part is
/// that of a bound at its maximum, the likelihood's the mean of d log p / d hyper under cavity times p^w.
Vector ep_gradient(LatentGaussianModel& model, const Posterior& posterior, Index hypers);

}  // namespace galvi
