#include "inference/ep.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "inference/natural_gradient.h"
#include "likelihood/tilted.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index tilted_block = 64;
constexpr double tilted_row_work = 1e4;  // flops, roughly

/// What the prior and the other sites say of each row.   N each
struct Cavities {
  Vector mean;      // of f
  Vector variance;  // of f
  Vector extra;     // c: variance of eta given f
};

Cavities cavities_of(const LatentGaussianModel& model, const SitePosterior& q) {
  const Vector& c = model.solver(0).extra_variances();
  Cavities out;
  out.extra = c.size() > 0 ? c : Vector::Zero(model.rows());
  const Vector v = q.variance.col(0) - out.extra;
  // 1 / v_c = 1 / v - lambda,  m_c / v_c = m / v - b
  out.variance = v.array() / (1 - q.sites.lambda.col(0).cwiseProduct(v).array());
  out.mean = q.centred.col(0) - out.variance.cwiseProduct(q.alpha.col(0));
  return out;
}

/// Calls body(n, rule, block) with cavity times p^w of each row that has a weight.
template <class Body>
void for_tilted(LatentGaussianModel& model, const Cavities& cavities, Body body) {
  const Index N = model.rows();
  parallel_for(model.context(), (N + tilted_block - 1) / tilted_block,
               tilted_row_work * static_cast<double>(N), [&](Index block) {
                 TiltedRule rule;
                 for (Index n = block * tilted_block; n < std::min(N, (block + 1) * tilted_block); ++n) {
                   const double weight = model.data().weight[n];
                   if (weight == 0) continue;
                   rule.place(model.likelihood(), model.data()[n], weight,
                              model.prior_mean()(n) + cavities.mean[n],
                              cavities.variance[n] + cavities.extra[n]);
                   body(n, rule, block);
                 }
               });
  ++model.context().cost.sweeps;
}

struct Update {
  Sites target;
  double log_evidence;
};

// Empty where a cavity is not a Gaussian, or so far from its row that the likelihood is zero.
std::optional<Update> update_of(LatentGaussianModel& model, const SitePosterior& q) {
  const Index N = model.rows();
  const Cavities cavities = cavities_of(model, q);
  if (!(cavities.variance.minCoeff() > 0) || !cavities.variance.allFinite()) return std::nullopt;
  Update out{{Matrix::Zero(N, 1), Matrix::Zero(N, 1)}, 0};
  Vector log_mass = Vector::Zero(N);
  for_tilted(model, cavities, [&](Index n, const TiltedRule& rule, Index) {
    log_mass[n] = rule.log_mass();
    // moments of eta, passed on to f: f given eta has mean m_c + (v_c / s)(eta - o - m_c), s = v_c + c
    const double v_c = cavities.variance[n], share = v_c / (v_c + cavities.extra[n]);
    const double shift = share * (rule.mean() - model.prior_mean()(n) - cavities.mean[n]);
    const double variance = share * (share * rule.variance() + cavities.extra[n]);
    const double lambda = std::max(0.0, (v_c - variance) / (v_c * variance));
    out.target.lambda(n) = lambda;
    out.target.b(n) = lambda * cavities.mean[n] + shift / variance;
  });
  // Site n is Z_n exp(b f - lambda f^2 / 2), its integral over the cavity that of p^w. With m_c = m - v_c
  // alpha
  //   log Z_EP = sum [log mass + log(v_c / v) / 2 + v_c alpha^2 / 2] - alpha' m / 2 - log|Sigma A| / 2,
  // and a flat direction has the density 1.
  const Vector v = q.variance.col(0) - cavities.extra, alpha = q.alpha.col(0);
  out.log_evidence =
      log_mass.sum() +
      0.5 * ((cavities.variance.array() / v.array()).log().sum() + alpha.cwiseAbs2().dot(cavities.variance) -
             2 * q.kl_of_mean - model.solver(0).log_det() +
             static_cast<double>(model.null_dimension()) * std::log(2 * M_PI));
  if (!std::isfinite(out.log_evidence)) return std::nullopt;
  return out;
}

// The size of the update of q in the natural gradient's norm.
double distance_to(const LatentGaussianModel& model, const SitePosterior& q, const Sites& target) {
  const Vector d = target.lambda - q.sites.lambda;
  const Vector r = target.b - q.sites.b - d.cwiseProduct(q.centred);
  return std::sqrt(std::max(0.0, model.solver(0).distance(r, d).squared_norm));
}

struct Point {
  SitePosterior q;
  Update update;
};

// The posterior of these sites and EP's quantities, whether or not E log p is finite; empty where a row has
// no cavity. The solver ends factorised there.
std::optional<Point> point_at(LatentGaussianModel& model, const Sites& sites) {
  Solver& solver = model.solver(0);
  if (!sites.lambda.allFinite() || !sites.b.allFinite() || !solver.factorise_for(sites.lambda, sites.b))
    return std::nullopt;
  SitePosterior q;
  q.sites = sites;
  const SiteMean site_mean = solver.posterior_mean(sites.b);
  q.alpha = site_mean.alpha;
  q.centred = site_mean.mean;
  q.mean = model.prior_mean() + q.centred;
  q.variance = solver.marginal_variances();
  q.kl_of_mean = site_mean.kl();
  q.kl = solver.covariance_kl() + q.kl_of_mean;
  q.expectations.d_mean = q.alpha;
  q.expectations.d_variance = -0.5 * sites.lambda;
  std::optional<Update> update = update_of(model, q);
  if (!update) return std::nullopt;
  q.elbo = q.merit = update->log_evidence;
  return Point{std::move(q), std::move(*update)};
}

// Cavities are valid only where the sites agree with each other, as they nearly do at the optimum of the
// bound.
std::optional<Point> first_point(LatentGaussianModel& model, const std::optional<Sites>& start) {
  if (start)
    if (auto point = point_at(model, *start)) return point;
  InferenceControl rough;
  rough.tol = 0.1;  // nats
  rough.max_iterations = 100;
  Trace aside(model.context());
  return point_at(model, natural_gradient(model, std::nullopt, rough, aside).posterior.sites);
}

}  // namespace

SiteResult ep(LatentGaussianModel& model, const std::optional<Sites>& start, const InferenceControl& control,
              Trace& trace) {
  constexpr double least_step = 1e-3;
  auto current = first_point(model, start);
  if (!current)
    throw std::domain_error(
        "method = \"ep\": without one of the rows its linear predictor has no proper distribution (the cavity is "
        "improper): give flat priors a finite sd, or use method = \"fixed_point\"");
  SiteResult out;
  out.stop = "where every further step would leave a row without a cavity";
  double step = 1, before = infinity;
  for (;;) {
    const auto& [q, update] = *current;
    out.stationarity = {std::numeric_limits<double>::quiet_NaN(), distance_to(model, q, update.target)};
    trace.add(model.hyper(), q, out.stationarity.gap());
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) break;
    ++out.iterations;
    // An update larger than the last one overshoots.
    step = out.stationarity.norm > before ? 0.5 * step : std::min(1.0, 1.2 * step);
    before = out.stationarity.norm;
    std::optional<Point> next;
    while (!next && step >= least_step) {
      next = point_at(model, {q.sites.lambda + step * (update.target.lambda - q.sites.lambda),
                              q.sites.b + step * (update.target.b - q.sites.b)});
      if (!next) step *= 0.5;
    }
    if (!next) {
      model.solver(0).factorise(q.sites.lambda);
      break;
    }
    current = std::move(next);
  }
  out.posterior = std::move(current->q);
  return out;
}

Vector ep_gradient(LatentGaussianModel& model, const SitePosterior& q, Index hypers) {
  Vector out = Vector::Zero(hypers);
  const Vector b = q.sites.b, alpha = q.alpha, mean = q.centred, lambda = q.sites.lambda;
  const Vector d_variance = -0.5 * lambda;
  // here c is part of the covariance of eta and shares its derivative [alpha^2 - lambda + lambda^2 v] / 2
  Vector d_extra = d_variance;
  const Vector& c = model.solver(0).extra_variances();
  if (c.size() > 0)
    d_extra += 0.5 * (alpha.cwiseAbs2() + lambda.cwiseAbs2().cwiseProduct(q.variance.col(0) - c));
  model.solver(0).gradient({b, alpha, mean, alpha, d_variance, true, &d_extra}, out);
  if (!model.likelihood().has_hyper()) return out;
  Matrix parts = Matrix::Zero(hypers, (model.rows() + tilted_block - 1) / tilted_block);
  for_tilted(model, cavities_of(model, q), [&](Index n, const TiltedRule& rule, Index block) {
    for (std::size_t j = 0; j < rule.nodes().size(); ++j)
      model.likelihood().add_gradient(model.data()[n], &rule.nodes()[j],
                                      model.data().weight[n] * rule.weights()[j], parts.col(block));
  });
  return out + parts.rowwise().sum();
}

}  // namespace galvi
