#include "solver/latent_posterior.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

// The explicit inverse loses digits; one step of iterative refinement restores them.
Vector LatentPosterior::solve(const Vector& h) const {
  const auto U = root.triangularView<Eigen::Lower>();
  const Vector u = U.transpose() * (U * h);
  return u + U.transpose() * Vector(U * (h - precision * u));
}

Matrix LatentPosterior::curvature(const Prior& prior) const {
  Matrix out = precision;
  out.diagonal() -= prior.precision();
  return out;
}

double LatentPosterior::kl_of_mean(const Prior& prior) const {
  return 0.5 * mean.dot(prior.precision().cwiseProduct(mean));
}

double LatentPosterior::kl_of_covariance(const Prior& prior) const {
  const double trace = variances().dot(prior.precision()) - static_cast<double>(mean.size());
  return 0.5 * (log_det + trace - prior.null_dimension() * std::log(2 * M_PI));
}

// As for any factorisation, rounding changes A by the last digits of A_ii A_jj, and the log determinant and
// tr(A A^-1) by that times A^-1. A itself is a sum over rows, with rounding errors of its own.
double LatentPosterior::rounding() const {
  return 16 * std::numeric_limits<double>::epsilon() * precision.diagonal().cwiseAbs().dot(variances());
}

std::optional<LatentPosterior> make_latent_posterior(Context& context, const Prior& prior, Vector mean,
                                                     Matrix precision) {
  LatentPosterior out;
  out.mean = std::move(mean);
  out.root = precision;
  out.precision = std::move(precision);
  if (!cholesky(context, out.root)) {
    if (prior.null_dimension() > 0 && out.precision.diagonal().minCoeff() >= 0) Prior::throw_collinear();
    return std::nullopt;
  }
  out.log_det = 2 * out.root.diagonal().array().log().sum();
  out.root.triangularView<Eigen::StrictlyUpper>().setZero();
  invert_lower(context, out.root);
  prior.check_collinear(out.precision.diagonal(), out.variances());
  return out;
}

std::optional<LatentPosterior> posterior_of_sums(Context& context, const Prior& prior, const Vector& h,
                                                 Matrix precision) {
  auto out = make_latent_posterior(context, prior, Vector(), std::move(precision));
  if (out) out->mean = out->solve(h);
  return out;
}

std::optional<LatentPosterior> whitened_posterior(Context& context, const Prior& prior, const Vector& mean,
                                                  const Matrix& chol) {
  const Index L = prior.columns();
  if (mean.size() != L || chol.rows() != L || chol.cols() != L)
    throw std::invalid_argument("q has other latent vectors than the model");
  // coefficients of prior variance zero are whitened ones without effect
  const auto known = prior.scale().array() == 0;
  const Vector whitening = known.select(Vector::Zero(L), prior.scale().cwiseInverse());
  Matrix inverse = whitening.asDiagonal() * chol;
  inverse.diagonal() += known.cast<double>().matrix();
  invert_lower(context, inverse);
  return make_latent_posterior(context, prior, whitening.cwiseProduct(mean - prior.coefficient_mean()),
                               inverse.transpose() * inverse.triangularView<Eigen::Lower>());
}

}  // namespace galvi
