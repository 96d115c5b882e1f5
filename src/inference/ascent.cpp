#include "inference/ascent.h"

#include "numeric/gmres.h"

namespace galvi {

namespace {

// With D the K x K blocks d^2E/dm^2 and f' = f + V d, d the change of b at the present lambda, alpha = b + d
// - lambda f' must be dE/dm + D V d:   (I - (D + Lambda) V) d = dE/dm - alpha.
struct Means {
  Matrix alpha, centred;
};

Means newton_means(LatentGaussianModel& model, const Posterior& posterior) {
  constexpr double tolerance = 1e-3;
  constexpr int products = 30;
  using Map = Eigen::Map<const Matrix>;
  const Index N = model.rows(), K = model.latents();
  const Expectations& e = posterior.expectations;
  const Matrix& lambda = posterior.sites.lambda;
  const Matrix scale = posterior.variance.cwiseSqrt();
  const auto apply_covariance = [&](const Matrix& x) { return model.product(&Solver::apply_covariance, x); };
  const LinearMap system = [&](const Vector& x) {
    const Matrix d = Map(x.data(), N, K).cwiseQuotient(scale), f = apply_covariance(d);
    Matrix out = d - lambda.cwiseProduct(f);
    for (Index l = 0; l < K; ++l)
      for (Index k = 0; k < K; ++k) out.col(k) -= e.d_mm.col(l * K + k).cwiseProduct(f.col(l));
    out.array() *= scale.array();
    return Vector(Map(out.data(), N * K, 1));
  };
  const Matrix residual = scale.cwiseProduct(e.d_mean - posterior.alpha);
  const Vector solution = gmres(
      system, [](const Vector& x) { return x; }, Map(residual.data(), N * K, 1), tolerance, products);
  const Matrix d = Map(solution.data(), N, K).cwiseQuotient(scale);
  const Matrix f = posterior.centred + apply_covariance(d);
  return {posterior.sites.b + d - lambda.cwiseProduct(f), f};
}

}  // namespace

bool natural_step(LatentGaussianModel& model, const Sites& target, double& step, int order,
                  Posterior& current) {
  constexpr double smallest = 1e-6;
  for (; step >= smallest; step *= 0.5) {
    const Sites sites{(1 - step) * current.sites.lambda + step * target.lambda,
                      (1 - step) * current.sites.b + step * target.b};
    auto next = model.at_sites(sites, order);
    if (next && next->merit >= current.merit - rounding(current)) {
      current = std::move(*next);
      return true;
    }
  }
  model.restore(current);
  return false;
}

Matrix newton_alpha(LatentGaussianModel& model, const Posterior& posterior) {
  return newton_means(model, posterior).alpha;
}

Sites newton_target(LatentGaussianModel& model, const Posterior& posterior) {
  const Means means = newton_means(model, posterior);
  Sites target;
  target.lambda = -2.0 * posterior.expectations.d_variance;
  target.b = means.alpha + target.lambda.cwiseProduct(means.centred);
  return target;
}

}  // namespace galvi
