#include "inference/exact.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/accurate_sum.h"

namespace galvi {

SiteResult exact(LatentGaussianModel& model, const std::optional<Sites>&, const InferenceControl&,
                 Trace& trace) {
  const Index N = model.rows(), K = model.latents();
  SiteResult out;
  SitePosterior& q = out.posterior;
  q.sites.lambda.resize(N, K);
  q.sites.b.resize(N, K);
  q.alpha.resize(N, K);
  q.centred.resize(N, K);
  q.variance.resize(N, K);
  q.elbo = 0;
  for (Index k = 0; k < K; ++k) {
    Vector lambda(N);  // 1 / noise, infinite for noise-free observations
    const Vector r = model.data().y - model.prior_mean().col(k);
    for (Index n = 0; n < N; ++n) {
      const double weight = model.data().weight[n], eta = model.prior_mean()(n, k);
      const double noise = model.likelihood().conditional_variance(model.data()[n], &eta);
      lambda[n] = weight == 0 ? 0 : weight / noise;
    }
    double log_evidence;
    const SiteMean site_mean = model.solver(k).condition(lambda, r, log_evidence);
    // rounding errors of alpha' (C + noise) alpha and of the rows' terms
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    const auto observed = lambda.array() > 0;
    const Vector noise = observed.select(lambda.cwiseInverse(), 0.0);
    q.rounding += 4 * epsilon *
                      (std::abs(log_evidence) + r.cwiseAbs().dot(site_mean.alpha.cwiseAbs()) +
                       site_mean.alpha.cwiseAbs2().dot(noise)) +
                  4 * site_mean.rounding + model.solver(k).rounding();
    // Jitter stands in for noise that the model does not have: if it explains more than a trace of a
    // noise-free response, observations contradict each other.
    const double explained = model.solver(k).jitter() * site_mean.alpha.cwiseAbs().maxCoeff();
    if (!lambda.allFinite() && explained > 1e-3 * r.cwiseAbs().maxCoeff())
      out.message =
          "noise-free observations contradict each other: rows with (almost) the same inputs differ in the "
          "response; give the gaussian a positive variance";
    q.sites.lambda.col(k) = lambda;
    q.sites.b.col(k) = lambda.cwiseProduct(r);
    q.alpha.col(k) = site_mean.alpha;
    q.centred.col(k) = site_mean.mean;
    q.variance.col(k) = model.solver(k).marginal_variances().cwiseMax(0.0);
    // a row of weight w counts as w rows: its noise is noise / w, and the constants of w - 1 rows are missing
    AccurateSum missing;
    for (Index n = 0; n < N; ++n) {
      const double w = model.data().weight[n];
      if (w > 0 && w != 1 && std::isfinite(lambda[n]))
        missing.add((w - 1) * std::log(lambda[n] / w / (2 * M_PI)) - std::log(w));
    }
    log_evidence += 0.5 * missing.value();
    // with c, the bound of Titsias (2009): E log p has one more expected square, c / noise
    const Vector& c = model.solver(k).extra_variances();
    if (c.size() > 0) log_evidence -= 0.5 * lambda.dot(c);
    q.elbo += log_evidence;
  }
  q.mean = model.prior_mean() + q.centred;
  if (!std::isfinite(q.elbo))
    throw std::domain_error("the log evidence is not finite; check the noise variance");
  q.expectations.d_mean = q.alpha;
  q.expectations.d_variance = -0.5 * q.sites.lambda;
  out.stationarity = {0, 0, q.rounding};
  out.converged = out.message.empty();
  trace.add(q.elbo, out.stationarity.gap());
  return out;
}

}  // namespace galvi
