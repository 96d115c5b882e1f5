// Every inference algorithm, one line each.
#include <stdexcept>

#include "inference/algorithm.h"
#include "inference/cholesky_gradient.h"
#include "inference/coordinate_ascent.h"
#include "inference/dual.h"
#include "inference/ep.h"
#include "inference/exact.h"
#include "inference/fixed_point.h"
#include "inference/incremental.h"
#include "inference/laplace.h"
#include "inference/mean_field.h"
#include "inference/natural_gradient.h"
#include "inference/newton.h"
#include "inference/opper_archambeau.h"
#include "inference/stochastic.h"

namespace galvi {

namespace {

using Model = LatentGaussianModel;

// The first non-empty reason.
template <std::string (*... Checks)(const Model&)>
std::string all_of(const Model& model) {
  std::string reason;
  (void)((reason = Checks(model), reason.empty()) && ...);
  return reason;
}

// Refuses a gaussian whose variance is fixed at 0.
std::string needs_noise(const Model& model) {
  const double eta = 0;
  if (model.likelihood().conjugate() && model.likelihood().conditional_variance(Datum{}, &eta) == 0)
    return "without noise the posterior interpolates the response, and no bound is finite; use exact";
  return "";
}

std::string needs_consistent(const Model& model) {
  if (!model.expectation().consistent())
    return "expectation \"" + model.expectation().name() +
           "\" does not define a function to maximise; use fixed_point";
  return "";
}

std::string needs_positive_sites(const Model& model) {
  if (!model.likelihood().concave_in_each())
    return "its steps keep lambda positive, which a likelihood that is not log-concave does not; use "
           "fixed_point";
  return "";
}

std::string needs_alpha(const Model& model) {
  if (model.null_dimension() > 0)
    return "it moves in alpha, which a flat prior does not determine; use fixed_point";
  return "";
}

std::string needs_cheap_products(const Model& model) {
  if (!model.all(&Solver::cheap_products))
    return "it multiplies by V o V many times, which costs a pass over the many rows each here; use "
           "fixed_point";
  return "";
}

std::string needs_gaussian(const Model& model) {
  if (!model.likelihood().conjugate())
    return "the posterior is Gaussian for a gaussian likelihood and normal priors only; use auto";
  return "";
}

std::string needs_sweep(const Model& model) {
  if (!model.all(&Solver::can_sweep))
    return "it visits one site after the other, and the factor of a sparse precision cannot follow each; use "
           "fixed_point";
  return "";
}

std::string needs_whitening(const Model& model) {
  if (model.null_dimension() > 0)
    return "it moves in whitened coordinates, which a flat prior does not have; use fixed_point";
  if (!model.all(&Solver::can_whiten))
    return "it moves a dense Cholesky factor of the posterior of all nodes, which are too many; use "
           "fixed_point";
  return "";
}

std::string needs_sums(const Model& model) {
  if (!model.sums_suffice())
    return "it works on blocks of rows, which takes a model of fixed effects and inducing points alone and an "
           "expectation that is exact or a bound; use fixed_point";
  return "";
}

std::string needs_blocks(const Model& model) {
  if (model.source() && !model.source()->has_blocks())
    return "it works on blocks of rows one after the other, and the workers hold the rows; use fixed_point";
  return "";
}

std::string needs_proper_prior(const Model& model) {
  if (model.null_dimension() > 0)
    return "it begins with a few rows, from which a flat prior makes no proper posterior; use fixed_point";
  return "";
}

std::string needs_taylor(const Model& model) {
  if (model.expectation().consistent())
    return "it is Newton's method for the mode with the curvature there, which is expectation = \"taylor\"; "
           "use auto";
  return "";
}

std::string needs_moments(const Model& model) {
  if (model.latents() != 1)
    return "its moments are integrals over one latent value per observation; use fixed_point";
  if (!model.likelihood().log_concave())
    return "its sites may run off where the likelihood is not log-concave; use auto";
  if (!model.expectation().exact())
    return "it integrates p(y | eta) itself, not a bound of its logarithm; leave expectation = \"auto\"";
  return "";
}

AlgorithmFacts evidence(Evidence evidence, Averaging averaging = Averaging::none) {
  AlgorithmFacts facts;
  facts.evidence = evidence;
  facts.averaging = averaging;
  return facts;
}

AlgorithmFacts dual_value() {
  AlgorithmFacts facts;
  facts.dual_value = true;
  return facts;
}

AlgorithmFacts holds_squares(int number) {
  AlgorithmFacts facts;
  facts.squares = number;
  return facts;
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      {"exact", {exact}, needs_gaussian, "the Gaussian posterior in one step (gaussian likelihood)", nullptr,
       "auto", evidence(Evidence::exact)},
      {"newton", {newton}, all_of<needs_noise, needs_cheap_products, needs_alpha, needs_consistent>,
       "Newton's method on a first-order model of the variances; 2 to 6 factorisations (full gp() terms)"},
      {"fixed_point", {fixed_point, fixed_point_by_sums}, needs_noise,
       "one Newton step for the mean and one fixed-point step for the covariance in turn (Sheth and Khardon "
       "2016)"},
      {"fixed_point_batch", {fixed_point_batch}, all_of<needs_noise, needs_alpha, needs_consistent>,
       "the mean to convergence, then the covariance to convergence, in turn (Sheth and Khardon 2016)"},
      {"coordinate_ascent", {coordinate_ascent},
       all_of<needs_noise, needs_sweep, needs_alpha, needs_consistent, needs_positive_sites>,
       "one variance after the other, then the mean by Newton's method (Khan, Mohamed and Murphy 2012)"},
      {"natural_gradient", {natural_gradient, natural_gradient_by_sums}, all_of<needs_noise, needs_consistent>,
       "natural-gradient ascent with a line search, accelerated"},
      {"incremental", {nullptr, nullptr, incremental}, all_of<needs_noise, needs_sums, needs_blocks, needs_proper_prior>,
       "blocks of rows replace their own sites, then full passes (models of columns and inducing points)"},
      {"stochastic", {nullptr, nullptr, stochastic}, all_of<needs_noise, needs_sums, needs_blocks, needs_proper_prior>,
       "minibatches move q and hyperparameters, then full passes (models of columns and inducing points; "
       "Hensman, Matthews and Ghahramani 2015)", nullptr, "auto", {}, learn_stochastically},
      {"opper_archambeau", {opper_archambeau},
       all_of<needs_noise, needs_alpha, needs_consistent, needs_positive_sites>,
       "L-BFGS over the 2N parameters alpha and lambda (Opper and Archambeau 2009)"},
      {"dual", {dual}, all_of<needs_noise, dual_refuses>,
       "quasi-Newton minimisation of the dual, whose value certifies the bound (Khan et al. 2013)", nullptr,
       "auto", dual_value()},
      {"cholesky_gradient", {cholesky_gradient, cholesky_gradient_by_sums},
       all_of<needs_noise, needs_whitening, needs_consistent>,
       "L-BFGS over mean and Cholesky factor of the whitened posterior (Challis and Barber 2013); stopped "
       "early, its trace may be above the bound of the fit",
       nullptr, "auto", holds_squares(32)},  // L-BFGS remembers twenty steps of a triangle
      {"laplace", {laplace}, all_of<needs_noise, needs_taylor>,
       "Newton's method for the mode, with the curvature there (taylor)", nullptr, "taylor",
       evidence(Evidence::approximation, Averaging::likelihood)},
      {"ep", {ep}, all_of<needs_noise, needs_moments>,
       "expectation propagation, a yardstick: an estimate of the log evidence, no bound", ep_gradient, "auto",
       evidence(Evidence::approximation, Averaging::itself)},
      {"mean_field", {mean_field}, all_of<needs_noise, mean_field_refuses>,
       "probit by independent truncated Gaussians, one factorisation (Hensman, Matthews and Ghahramani 2015)",
       mean_field_gradient},
  };
  return table;
}

InferenceResult Algorithm::run(LatentGaussianModel& model, const std::optional<Start>& start,
                               const InferenceControl& control, Trace& trace) const {
  if (!model.has_all_rows() && !kinds.sums && !kinds.blocks)
    throw std::domain_error("method \"" + name +
                            "\" needs all rows in memory; use fixed_point, natural_gradient or incremental");
  if (!model.has_all_rows() && !model.sums_suffice())
    throw std::domain_error("method \"" + name + "\" needs all rows in memory with expectation \"" +
                            model.expectation().name() + "\"; use another expectation");
  if (model.sums_suffice()) {
    if (kinds.blocks) return kinds.blocks(BlockModel(model), start, control, trace);
    if (kinds.sums) return kinds.sums(GlobalModel(model), start, control, trace);
  }
  const Sites* sites = start ? sites_in(*start) : nullptr;
  return kinds.rows(model, sites ? std::optional(*sites) : std::nullopt, control, trace);
}

Vector Algorithm::objective_gradient(LatentGaussianModel& model, const Posterior& posterior, Index hypers) const {
  return posterior.visit(
      Overloaded{[&](const SitePosterior& q) {
                   return gradient ? gradient(model, q, hypers) : model.gradient(q, hypers, true);
                 },
                 [&](const SumsPosterior& q) { return GlobalModel(model).gradient(*q.sites.q); }});
}

std::string automatic_expectation(const std::string& method) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == method) return algorithm.expectation;
  return "auto";
}

const Algorithm& find_algorithm(const std::string& name) {
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return algorithm;
  throw std::invalid_argument("unknown method \"" + name + "\"");
}

}  // namespace galvi
