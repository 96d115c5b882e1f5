#include "global/global_model.h"

#include <cmath>
#include <limits>

#include "global/chunk.h"
#include "model/start.h"
#include "numeric/backend.h"
#include "numeric/dense.h"

namespace galvi {

std::optional<GlobalPosterior> GlobalModel::posterior(const std::vector<Vector>& mean,
                                                      const std::vector<Matrix>& precision) {
  GlobalPosterior out;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    if (!mean[k].allFinite() || !precision[k].allFinite()) return std::nullopt;
    auto part = make_latent_posterior(model_.context(), prior(k), mean[k], precision[k]);
    if (!part) return std::nullopt;
    out.push_back(std::move(*part));
  }
  return out;
}

std::optional<GlobalPosterior> GlobalModel::posterior_of(const Contribution& sums, double factor) const {
  GlobalPosterior out;
  for (Index k = 0; k < model_.latents(); ++k) {
    Matrix precision = factor * sums.curvature[k];
    precision.diagonal() += prior(k).precision();
    fill_upper(precision);
    if (!precision.allFinite() || !sums.slope[k].allFinite()) return std::nullopt;
    auto part = posterior_of_sums(model_.context(), prior(k), factor * sums.slope[k], std::move(precision));
    if (!part) return std::nullopt;
    out.push_back(std::move(*part));
  }
  return out;
}

std::optional<GlobalPoint> GlobalModel::at(std::optional<GlobalPosterior> q, bool joint) {
  if (!q) return std::nullopt;
  Wanted wanted;
  wanted.joint = joint;
  return ask(std::move(*q), wanted);
}

std::optional<GlobalPoint> GlobalModel::with_gradient(GlobalPosterior q, Vector& hyper) {
  Wanted wanted;
  wanted.gradient = true;
  auto out = ask(std::move(q), wanted);
  if (out) hyper = hyper_gradient(model_, out->sums, model_.hypers());
  return out;
}

// Each sum over rows is accurate to the last digits of its largest terms, and E log p to those of its
// argument.
std::optional<GlobalPoint> GlobalModel::ask(GlobalPosterior q, Wanted wanted) {
  GlobalPoint out;
  out.rows.resize(model_.rows(), model_.latents());
  if (!source_) wanted.values = &out.rows;
  Question question;
  question.q = &q;
  question.wanted = wanted;
  out.sums = rows().sum(model_, question);
  if (model_.remembered()) model_.remembered()->add(q, out.sums);
  const Contribution& sums = out.sums;
  double kl_of_covariance = 0;
  for (Index k = 0; k < model_.latents(); ++k) {
    out.kl_of_mean += q[k].kl_of_mean(prior(k));
    kl_of_covariance += q[k].kl_of_covariance(prior(k));
    out.rounding += q[k].rounding();
    if (!sums.slope[k].allFinite() || !sums.curvature[k].allFinite()) return std::nullopt;
  }
  out.kl = out.kl_of_mean + kl_of_covariance;
  out.elbo = sums.value - out.kl;
  if (!std::isfinite(out.elbo)) return std::nullopt;
  out.rounding += sums.rounding + rounding_of_sums(1, out.kl);
  // a divergence is never negative: a posterior that violates this has lost its digits
  const double allowed = -std::min(out.rounding, 1e-6 * (1 + std::abs(out.elbo)));
  if (model_.null_dimension() == 0 && kl_of_covariance < allowed) return std::nullopt;
  out.q = std::move(q);
  if (source_ && !(source_->reached && source_->reached->point->elbo > out.elbo))
    source_->reached = {std::make_shared<const GlobalPoint>(out), model_.hyper()};
  return out;
}

Contribution GlobalModel::no_sites() const {
  Contribution out = empty_sums(model_, 0);
  if (model_.remembered()) model_.remembered()->add_sites(out);
  return out;
}

Contribution GlobalModel::sum_of_sites(const Question& question) {
  Contribution out = no_sites();
  out += rows().sum(model_, question);
  return out;
}

std::optional<GlobalPosterior> GlobalModel::posterior_of(const Sites& sites, double factor) {
  Question question;
  question.kind = Question::sites;
  question.at = &sites;
  return posterior_of(sum_of_sites(question), factor);
}

std::optional<GlobalPosterior> GlobalModel::posterior_of(const GivenSites& sites) {
  Question question;
  question.kind = Question::sites;
  question.at = &sites.rows;
  question.given = &sites;
  return posterior_of(sum_of_sites(question), 1);
}

std::optional<GlobalPosterior> GlobalModel::posterior_at(const Start& start) {
  const auto finite = [](const Sites& sites) { return sites.b.allFinite() && sites.lambda.allFinite(); };
  using None = std::optional<GlobalPosterior>;
  return std::visit(
      Overloaded{
          [&](const Sites& sites) { return !source_ && finite(sites) ? posterior_of(sites, 1) : None(); },
          [&](const GivenSites& sites) { return finite(sites.rows) ? posterior_of(sites) : None(); },
          [](const std::shared_ptr<const GlobalPosterior>& q) { return None(*q); }},
      start);
}

GlobalPoint GlobalModel::start(const std::optional<Start>& start, bool joint) {
  std::optional<GlobalPoint> out;
  if (start) out = at(posterior_at(*start), joint);
  if (out) return std::move(*out);
  Question question;
  question.kind = Question::start;
  const Contribution sums = sum_of_sites(question);
  find_finite_bound(model_.observations(), [&](double factor) {
    out = at(posterior_of(sums, factor), joint);
    return out ? out->elbo : -std::numeric_limits<double>::infinity();
  });
  return std::move(*out);
}

// -bound is 1-strongly convex in the whitened mean and an upper factor of q, where its gradient is -r and the
// upper triangle of D U' (A^-1 = U'U). The natural-gradient norm is that of U r and U D U' / sqrt 2.
GlobalStep GlobalModel::step_from(const GlobalPoint& point) const {
  GlobalStep out;
  double certificate = 0, norm = 0;
  for (Index k = 0; k < model_.latents(); ++k) {
    const LatentPosterior& q = point.q[k];
    out.slope.push_back(point.sums.slope[k] - prior(k).precision().cwiseProduct(q.mean));
    Matrix D = point.sums.curvature[k];
    fill_upper(D);
    D -= q.curvature(prior(k));
    Matrix DU = D;
    const Backend& backend = model_.context().backend;
    if (DU.size() > 0) backend.triangular_multiply(false, true, 1.0, q.root, DU);
    certificate +=
        0.5 * (out.slope[k].squaredNorm() + Matrix(DU.triangularView<Eigen::Upper>()).squaredNorm());
    if (DU.size() > 0) backend.triangular_multiply(true, false, 1.0, q.root, DU);
    norm += (q.root.triangularView<Eigen::Lower>() * out.slope[k]).squaredNorm() + 0.5 * DU.squaredNorm();
    out.change.push_back(std::move(D));
  }
  out.stationarity = {std::numeric_limits<double>::quiet_NaN(), std::sqrt(norm), point.rounding};
  if (model_.one_optimum() && model_.null_dimension() == 0) out.stationarity.certificate = certificate;
  return out;
}

Vector GlobalModel::gradient(const GlobalPosterior& q) {
  Question question;
  question.q = &q;
  question.wanted.gradient = true;
  return hyper_gradient(model_, rows().sum(model_, question), model_.hypers());
}

Contribution BlockModel::batch_sum(const GlobalPosterior& q, const RowBlock& batch,
                                   const Wanted& wanted) const {
  Question question;
  question.q = &q;
  question.wanted = wanted;
  TreeSum<Contribution> sum;
  // small parts, so that threads share the batch
  add_parts(model(), question, Partition(batch.size(), 64), batch, 0, sum);
  return std::move(sum).total();
}

GivenSites GlobalModel::sites_of(const GlobalPoint& point) const {
  const int order = point.sums.joint.size() > 0 ? 2 : 1;
  GivenSites out{std::make_shared<const GlobalPosterior>(point.q), model_.hyper(), order, {}};
  if (source_) return out;
  const Expectations& e = point.rows.expectations;
  out.rows.lambda = -2 * e.d_variance;
  out.rows.b = e.d_mean + out.rows.lambda.cwiseProduct(point.rows.mean - model_.prior_mean());
  return out;
}

SumsPosterior GlobalModel::as_posterior(const GlobalPoint& point) {
  SumsPosterior out;
  out.mean = point.rows.mean;
  out.variance = point.rows.variance;
  out.expectations = point.rows.expectations;
  out.centred = out.mean - model_.prior_mean();
  out.alpha = out.expectations.d_mean;
  out.sites = sites_of(point);
  out.kl = point.kl;
  out.kl_of_mean = point.kl_of_mean;
  out.elbo = point.elbo;
  out.rounding = point.rounding;
  model_.restore(out);
  return out;
}

}  // namespace galvi
