#include "fit/couple.h"

#include "global/coupled.h"
#include "numeric/dense.h"

namespace galvi {

std::optional<Coupling> couple(LatentGaussianModel& model, const Posterior& q, std::vector<SolverState> states) {
  constexpr Index most = 2000;  // largest number of coefficients whose joint covariance is kept
  const Index K = model.latents();
  if (K == 1 || model.priors().size() > 1 || !model.sums_suffice() || !model.expectation().exact())
    return std::nullopt;
  const Prior& prior = *model.predictor(0).prior;
  const Index L = prior.columns();
  if (!prior.finite() || prior.has_extra_variances() || L * K > most) return std::nullopt;
  GlobalModel sums(model);
  const std::optional<GlobalPosterior> factorised = q.global ? *q.global : sums.posterior_of(q.sites, 1);
  if (!factorised) return std::nullopt;
  const std::optional<CoupledPosterior> coupled = coupled_posterior(sums, *factorised);
  if (!coupled) return std::nullopt;
  for (Index k = 0; k < K; ++k) {
    Matrix root = coupled->covariance.block(k * L, k * L, L, L);
    if (!cholesky(model.context(), root)) return std::nullopt;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    states[k].latent_mean =
        prior.coefficient_mean() + prior.scale().cwiseProduct(coupled->mean.segment(k * L, L));
    states[k].latent_chol = prior.scale().asDiagonal() * root;
  }
  const Vector scale = prior.scale().replicate(K, 1);
  return Coupling{scale.asDiagonal() * coupled->covariance * scale.asDiagonal(), std::move(states)};
}

}  // namespace galvi
