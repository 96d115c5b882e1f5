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

using Model = LatentGaussianModel;

// The first reason that is not empty.
template <std::string (*... Checks)(const Model&)>
std::string all_of(const Model& model) {
  std::string reason;
  (void)((reason = Checks(model), reason.empty()) && ...);
  return reason;
}

std::string any(const Model&) { return ""; }

std::string needs_consistent(const Model& model) {
  if (!model.expectation().consistent())
    return "expectation \"" + model.expectation().name() +
           "\" is no function that it could climb; use fixed_point";
  return "";
}

std::string needs_positive_sites(const Model& model) {
  if (!model.likelihood().log_concave())
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
  if (!model.solver(0).cheap_products())
    return "it multiplies by V o V many times, which costs a pass over the many rows each here; use "
           "fixed_point";
  return "";
}

std::string needs_gaussian(const Model& model) {
  if (!model.likelihood().conjugate())
    return "the posterior is Gaussian for a gaussian likelihood only; use newton";
  return "";
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> table = {
      {"exact", exact, needs_gaussian, "the Gaussian posterior in one step (gaussian likelihood)"},
      {"newton", newton, all_of<needs_cheap_products, needs_alpha, needs_consistent>,
       "Newton's method on a first-order model of the variances; 2 to 6 factorisations (full gp() terms)"},
      {"fixed_point", fixed_point, any,
       "one Newton step for the mean and one fixed-point step for the covariance in turn (Sheth and Khardon "
       "2016)"},
      {"fixed_point_batch", fixed_point_batch, all_of<needs_alpha, needs_consistent>,
       "the mean to convergence, then the covariance to convergence, in turn (Sheth and Khardon 2016)"},
      {"natural_gradient", natural_gradient, needs_consistent, "natural-gradient ascent with a line search"},
      {"opper_archambeau", opper_archambeau, all_of<needs_alpha, needs_consistent, needs_positive_sites>,
       "L-BFGS over the 2N parameters alpha and lambda (Opper and Archambeau 2009)"},
  };
  return table;
}

const Algorithm& choose_algorithm(const std::string& name, const LatentGaussianModel& model) {
  // auto: exact where it applies. With z as long as the data newton, or where the likelihood is not
  // log-concave, whose bends newton's model of the variances misjudges, the natural gradient. Else the
  // accelerated fixed point, which moves in b and so keeps its digits where coefficients have wide priors.
  if (name == "auto") {
    const bool full = model.solver(0).latent_dimension() == model.rows();
    const std::string best = !full                              ? "fixed_point"
                             : model.likelihood().log_concave() ? "newton"
                                                                : "natural_gradient";
    for (const std::string& candidate : {std::string("exact"), best, std::string("fixed_point")})
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
