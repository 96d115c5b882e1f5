// Every inference algorithm, one line each.
#include <stdexcept>

#include "inference/algorithm.h"
#include "inference/exact.h"
#include "inference/fixed_point.h"
#include "inference/natural_gradient.h"
#include "inference/newton.h"
#include "inference/opper_archambeau.h"

namespace galvi {

namespace {

std::string any(const LatentGaussianModel&) { return ""; }

std::string needs_proper_log_concave(const LatentGaussianModel& model) {
  if (!model.likelihood().log_concave())
    return "its steps keep lambda positive, which a likelihood that is not log-concave does not; use "
           "natural_gradient";
  return "";
}

std::string needs_alpha(const LatentGaussianModel& model) {
  if (model.null_dimension() > 0)
    return "it moves in alpha, which a flat prior does not determine; use fixed_point";
  return "";
}

std::string needs_covariance(const LatentGaussianModel& model) {
  if (!model.solver(0).cheap_products())
    return "it multiplies by V o V many times, which costs a pass over the many rows each here; use fixed_point";
  const std::string reason = needs_alpha(model);
  return reason.empty() ? needs_proper_log_concave(model) : reason;
}

std::string needs_prior_covariance(const LatentGaussianModel& model) {
  const std::string reason = needs_alpha(model);
  return reason.empty() ? needs_proper_log_concave(model) : reason;
}

std::string needs_gaussian(const LatentGaussianModel& model) {
  if (!model.likelihood().conjugate())
    return "the posterior is Gaussian for a gaussian likelihood only; use newton";
  return "";
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      {"exact", exact, needs_gaussian, "the Gaussian posterior in one step (gaussian likelihood)"},
      {"newton", newton, needs_covariance,
       "Newton's method on a first-order model of the variances; 2 to 6 factorisations (full gp() terms)"},
      {"fixed_point", fixed_point, any,
       "one Newton step for the mean and one fixed-point step for the covariance in turn (Sheth and Khardon "
       "2016)"},
      {"fixed_point_batch", fixed_point_batch, needs_alpha,
       "the mean to convergence, then the covariance to convergence, in turn (Sheth and Khardon 2016)"},
      {"natural_gradient", natural_gradient, any, "natural-gradient ascent with a line search"},
      {"opper_archambeau", opper_archambeau, needs_prior_covariance,
       "L-BFGS over the 2N parameters alpha and lambda (Opper and Archambeau 2009)"},
  };
  return table;
}

const Algorithm& choose_algorithm(const std::string& name, const LatentGaussianModel& model) {
  // auto: exact where it applies; newton where z is as long as the data; else the accelerated fixed point,
  // which moves in b and so keeps its digits where coefficients have wide priors.
  if (name == "auto") {
    const bool full = model.solver(0).latent_dimension() == model.rows();
    for (const std::string candidate : {"exact", full ? "newton" : "fixed_point", "fixed_point"})
      for (const Algorithm& algorithm : algorithms())
        if (algorithm.name == candidate && algorithm.refuses(model).empty()) return algorithm;
  }
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name != name) continue;
    const std::string reason = algorithm.refuses(model);
    if (!reason.empty()) throw std::domain_error("method \"" + name + "\" cannot fit this model: " + reason);
    return algorithm;
  }
  throw std::invalid_argument("unknown method \"" + name + "\"");
}

}  // namespace galvi
