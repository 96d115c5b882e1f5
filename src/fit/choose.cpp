#include "fit/choose.h"

#include <algorithm>
#include <stdexcept>

#include "inference/ascent.h"

namespace galvi {

namespace {

bool averages(const Algorithm& algorithm) { return algorithm.facts.averaging == Averaging::itself; }

/// The names that "auto" stands for, the best first; the last serves every model with these rows. With z as
/// long as the data newton, or the natural gradient where the likelihood is not log-concave, which misleads newton's
/// model of the variances, or where its products are no cheaper than factorisations, unless means must move together,
/// which the natural gradient cannot see. Otherwise the fixed point, which is accurate for coefficients with wide
/// priors; with very many rows incremental sweeps are faster, but not where workers have the rows.
std::vector<std::string> automatic(const LatentGaussianModel& model) {
  constexpr Index many = 100;  // rows per column (bench/incremental.R)
  std::vector<std::string> out;
  if (model.has_all_rows()) out.push_back("exact");
  if (model.full() && model.has_all_rows())
    out.push_back(model.likelihood().concave_in_each() &&
                          (model.all(&Solver::favours_products) || moves_means_together(model))
                      ? "newton"
                      : "natural_gradient");
  else if (model.latents() == 1 && model.observations() >= many * model.latent_dimension())
    out.push_back("incremental");
  out.push_back("fixed_point");
  return out;
}

/// A thousand coordinates of inducing points take L-BFGS hundreds of full passes, minibatches some tens.
/// Where these passes are short, their higher bound is worth the time (bench/minibatches.R, bench/flights.R,
/// bench/digits.R).
bool by_minibatches(const LatentGaussianModel& model, const HyperTable& table) {
  constexpr double many = 1000, much = 1e8;
  const double coordinates = static_cast<double>(table.is_place().count());
  return coordinates > many && coordinates * static_cast<double>(model.observations()) > much;
}

const Algorithm* able(const std::string& name, const LatentGaussianModel& model) {
  const Algorithm& algorithm = find_algorithm(name);
  return algorithm.refuses(model).empty() ? &algorithm : nullptr;
}

}  // namespace

const Algorithm& choose(const Method& method, const LatentGaussianModel& model) {
  const bool any = method.name == "auto";
  if (any && !method.averages)
    for (const std::string& name : automatic(model))
      if (const Algorithm* algorithm = able(name, model)) return *algorithm;
  const Algorithm& algorithm = any && method.averages
                                   ? *std::find_if(algorithms().begin(), algorithms().end(), averages)
                                   : find_algorithm(any ? automatic(model).back() : method.name);
  const std::string reason = algorithm.refuses(model);
  if (!reason.empty())
    throw std::domain_error("method \"" + algorithm.name + "\" cannot fit this model: " + reason);
  return algorithm;
}

const Algorithm& choose_to_learn(const Method& method, const LatentGaussianModel& model,
                                 const HyperTable& table) {
  if (method.name == "auto" && !method.averages && by_minibatches(model, table))
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.learn && algorithm.refuses(model).empty()) return algorithm;
  return choose(method, model);
}

}  // namespace galvi
