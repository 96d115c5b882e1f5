#include "inference/coordinates.h"

#include <cmath>

namespace galvi {

namespace {

using Map = Eigen::Map<const Matrix>;

Vector flatten(const Matrix& A, const Matrix& B) {
  Vector out(A.size() + B.size());
  out << Eigen::Map<const Vector>(A.data(), A.size()), Eigen::Map<const Vector>(B.data(), B.size());
  return out;
}

}  // namespace

RawCoordinates::RawCoordinates(const SitePosterior& start)
    : origin_(flatten(start.alpha, start.sites.lambda)) {}

std::optional<SitePosterior> RawCoordinates::at(LatentGaussianModel& model, const Vector& x) const {
  const Index N = model.rows(), K = model.latents();
  const Matrix lambda = Map(x.data() + N * K, N, K);
  if (lambda.minCoeff() < 0) return std::nullopt;
  return model.at_alpha(lambda, Map(x.data(), N, K), 1);
}

Vector RawCoordinates::gradient(LatentGaussianModel& model, const SitePosterior& q) const {
  const Matrix d = 0.5 * q.sites.lambda + q.expectations.d_variance;
  return flatten(model.product(&Solver::apply_prior, q.expectations.d_mean - q.alpha),
                 -model.product(&Solver::apply_squared_covariance, d));
}

NaturalCoordinates::NaturalCoordinates(const SitePosterior& start, const Matrix& lambda_floor)
    : b_(start.sites.b),
      log_lambda_(start.sites.lambda.cwiseMax(lambda_floor).array().log()),
      scale_b_(start.variance.cwiseSqrt().cwiseInverse()),
      // the curvature in log lambda is about (lambda v)^2 / 2; a negligible site must not run away
      scale_log_(
          (1 / start.sites.lambda.cwiseMax(lambda_floor).cwiseProduct(start.variance).array()).min(1e3)) {}

std::optional<SitePosterior> NaturalCoordinates::at(LatentGaussianModel& model, const Vector& x) const {
  const Index N = model.rows(), K = model.latents();
  const Sites sites{(log_lambda_ + scale_log_.cwiseProduct(Map(x.data() + N * K, N, K))).array().exp(),
                    b_ + scale_b_.cwiseProduct(Map(x.data(), N, K))};
  return model.at_sites(sites, 1);
}

Vector NaturalCoordinates::gradient(LatentGaussianModel& model, const SitePosterior& q) const {
  const Matrix d_b = model.product(&Solver::apply_covariance, q.expectations.d_mean - q.alpha);
  const Matrix d = 0.5 * q.sites.lambda + q.expectations.d_variance;
  const Matrix d_lambda = -model.product(&Solver::apply_squared_covariance, d) - d_b.cwiseProduct(q.centred);
  return flatten(scale_b_.cwiseProduct(d_b), scale_log_.cwiseProduct(q.sites.lambda).cwiseProduct(d_lambda));
}

}  // namespace galvi
