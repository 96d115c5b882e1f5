#include "model/start.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "likelihood/distributional.h"
#include "likelihood/mixed.h"

namespace galvi {

namespace {

constexpr double no_bound = -std::numeric_limits<double>::infinity();
constexpr double widest_marginal = 1e4;  // of a variance; wider priors count as flat

struct Site {
  double lambda, b;
};

// The quadratic expansion of a row's log likelihood around the value of eta that fits it best.   K = 1
Site expand_at_datum(const Likelihood& likelihood, const Datum& datum, double weight, double prior_mean) {
  const double eta = likelihood.starting_eta(datum);
  double l[5];
  likelihood.derivatives(datum, eta, l);
  const double lambda = weight * std::max(-l[2], 0.0);
  return {lambda, weight * l[1] + lambda * (eta - prior_mean)};
}

// The likelihood of eta_1 alone where the others are known.   eta: row n holds all K
std::shared_ptr<const Likelihood> first_given(const Distributional& likelihood, const Matrix& eta, Index n) {
  auto given = likelihood.others_given(eta(n, likelihood.last()));
  while (const Distributional* form = given->distributional()) given = form->others_given(eta(n, form->last()));
  return given;
}

bool is_prior(const Likelihood& likelihood, const Datum& datum) {
  return likelihood.mixed() && likelihood.mixed()->is_prior(datum);
}

// Row n of mean and variance, the prior of a coefficient, where that prior is large.
void start_at_prior(const Mixed& likelihood, const Datum& datum, Matrix& mean, Matrix& variance, Index n) {
  const Index k = likelihood.latent(datum.part);
  const Likelihood& prior = likelihood.part(datum);
  double l[5];
  mean(n, k) = prior.starting_eta(datum);
  prior.derivatives(datum, mean(n, k), l);
  variance(n, k) = l[2] < 0 ? -1 / l[2] : std::min(prior.conditional_variance(datum, &mean(n, k)), widest_marginal);
}

// The sites of a distributional likelihood with the other predictors at these values, and with eta_1 where each
// row alone puts it, with the uncertainty that leaves.   mean: N x K, its first column is not used
Sites sites_given(Context& context, const LatentGaussianModel& model, const Data& data,
                  const Matrix& prior_mean, Matrix mean) {
  const Likelihood& likelihood = model.likelihood();
  const Index N = mean.rows();
  Matrix variance = Matrix::Zero(N, mean.cols());
  for (Index n = 0; n < N; ++n) {
    if (is_prior(likelihood, data[n])) {
      start_at_prior(*likelihood.mixed(), data[n], mean, variance, n);
      continue;
    }
    const auto given = first_given(*likelihood.distributional(), mean, n);
    double l[5];
    mean(n, 0) = given->starting_eta(data[n]);
    // a zero that carries no information about eta_1
    if (!std::isfinite(mean(n, 0))) {
      mean(n, 0) = prior_mean(n, 0);
      continue;
    }
    given->derivatives(data[n], mean(n, 0), l);
    // a kink has no curvature: the response's own variance is used
    variance(n, 0) = l[2] < 0 ? -1 / l[2] : 0;
    if (given->smoothness().width == 0) variance(n, 0) = given->conditional_variance(data[n], &mean(n, 0));
  }
  Expectations e;
  model.expectation().evaluate(context, likelihood, data, mean, variance, 1, e);
  const Matrix lambda = (-2.0 * e.d_variance).cwiseMax(0.0);
  return {lambda, e.d_mean + lambda.cwiseProduct(mean - prior_mean)};
}

// The other predictors that fit each row if eta_1 is known no better than in the prior, the last one first: all
// variation is noise.   N x K
Matrix noisy_others(const Likelihood& all, const Data& data, const Matrix& prior_mean,
                    const Matrix& prior_variance) {
  const Distributional& likelihood = *all.distributional();
  Matrix out = prior_mean;
  for (Index n = 0; n < out.rows(); ++n) {
    if (is_prior(all, data[n])) continue;
    std::shared_ptr<const Likelihood> given;  // the other predictors after this one
    for (const Distributional* form = &likelihood; form; form = given->distributional()) {
      const double own = form->last_of(data[n], prior_mean(n, 0), std::min(prior_variance(n, 0), widest_marginal));
      if (std::isfinite(own)) out(n, form->last()) = own;
      if (form->last() == 1) break;
      given = form->others_given(out(n, form->last()));
    }
  }
  return out;
}

// Of starts with coefficients at the peaks of their priors: the same with coefficients that the data alone determine.
void add_without_priors(const LatentGaussianModel& model, std::vector<Sites>& starts) {
  const Mixed* mixed = model.likelihood().mixed();
  if (!mixed || !mixed->has_priors()) return;
  Sites free = starts.front();
  for (Index n = 0; n < free.lambda.rows(); ++n)
    if (mixed->is_prior(model.data()[n])) {
      free.lambda.row(n).setZero();
      free.b.row(n).setZero();
    }
  starts.push_back(std::move(free));
}

}  // namespace

std::vector<Sites> other_starts(LatentGaussianModel& model) {
  const Index N = model.rows(), K = model.latents();
  // starting_sites() treat responses as noise; with the other predictors at their prior means they may be signal
  if (model.likelihood().distributional()) {
    std::vector<Sites> out{sites_given(model.context(), model, model.data(), model.prior_mean(), model.prior_mean())};
    add_without_priors(model, out);
    return out;
  }
  Sites start{Matrix::Zero(N, K), Matrix::Zero(N, K)};
  if (K > 1) return {start};
  for (Index n = 0; n < N; ++n) {
    if (model.data().weight[n] == 0) continue;
    const Site site = expand_at_datum(model.likelihood(), model.data()[n], model.data().weight[n],
                                      model.prior_mean()(n));
    start.lambda(n) = site.lambda;
    start.b(n) = site.b;
  }
  constexpr double blurred = 0.01;
  std::vector<Sites> out{start, {blurred * start.lambda, blurred * start.b}};
  add_without_priors(model, out);
  return out;
}

Sites starting_sites(Context& context, const LatentGaussianModel& model, const Data& data,
                     const Matrix& prior_mean, const Matrix& prior_variance) {
  const Index N = prior_mean.rows(), K = prior_mean.cols();
  const Likelihood& likelihood = model.likelihood();
  if (likelihood.distributional())
    return sites_given(context, model, data, prior_mean,
                       noisy_others(likelihood, data, prior_mean, prior_variance));
  // With far fewer coefficients than rows the posterior is much narrower than the prior, whatever a single
  // row says.
  const bool narrow = model.observations() > 2 * model.latent_dimension();
  // Among competing classes the widest would take all.
  const double widest = K == 1 ? widest_marginal : narrow ? 0 : 4;
  const Matrix v0 = prior_variance.cwiseMin(widest);
  Expectations e;
  model.expectation().evaluate(context, likelihood, data, prior_mean, v0, 1, e);
  Sites sites{-2.0 * e.d_variance, e.d_mean};
  if (K > 1) return sites;
  const bool explosive = likelihood.smoothness().growth > 0;

  for (Index n = 0; n < N; ++n) {
    if (data.weight[n] == 0) {
      sites.lambda(n) = sites.b(n) = 0;
      continue;
    }
    const Site own = expand_at_datum(likelihood, data[n], data.weight[n], prior_mean(n));
    const double lambda = sites.lambda(n), b = sites.b(n), v = v0(n);
    // the effect of this observation alone on its own mean
    const double move = v * b / (1 + lambda * v);
    const bool moderate =
        std::isfinite(lambda) && std::isfinite(move) && lambda >= 0 && std::abs(move) <= 3 * std::sqrt(v);
    // a kink has no expansion, nor has a log likelihood that is convex where it is largest
    const bool kink = own.lambda == 0 || likelihood.smoothness(data[n]).width == 0;
    const bool keep = narrow ? kink : !explosive || lambda <= 10 * own.lambda || lambda * v < 1;
    if (moderate && keep) continue;
    sites.lambda(n) = own.lambda;
    sites.b(n) = own.b;
  }
  return sites;
}

SitePosterior initial_posterior(LatentGaussianModel& model, const std::optional<Sites>& start, int order) {
  if (start)
    if (auto posterior = model.at_sites(*start, order)) return std::move(*posterior);
  const Sites own =
      starting_sites(model.context(), model, model.data(), model.prior_mean(), model.prior_variances());
  std::optional<SitePosterior> out;
  find_finite_bound(model.observations(), [&](double factor) {
    out = model.at_sites({factor * own.lambda, factor * own.b}, order);
    return out ? out->elbo : no_bound;
  });
  return std::move(*out);
}

void find_finite_bound(Index rows, const std::function<double(double factor)>& attempt) {
  // Rows of little weight leave the prior's variance, where E exp(eta) is finite and yet nothing can be learned
  // from it: no step of usual length leads away.
  constexpr double hopeless = -1e4;  // nats a row
  // Weaker sites first; stronger ones under a very wide prior, where E log p overflows.
  for (const double factor : {0.5, 4.0}) {
    double power = 1;
    for (int i = 0; i < 60; ++i, power *= factor) {
      double bound = attempt(power);
      if (!std::isfinite(bound)) continue;
      if (bound > hopeless * static_cast<double>(std::max<Index>(rows, 1))) return;
      for (double stronger = 4 * power;; stronger *= 4) {
        const double next = attempt(stronger);
        if (!(next > bound)) {
          attempt(stronger / 4);
          return;
        }
        bound = next;
      }
    }
  }
  throw std::domain_error(
      "no starting point with a finite bound was found; check the scale of the response, the `offset` and "
      "the inputs");
}

}  // namespace galvi
