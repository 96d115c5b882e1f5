#include "fit/choose.h"

namespace galvi {

namespace {

/// What "auto" stands for where inducing points are learned from many rows: a thousand coordinates take L-BFGS
/// hundreds of full passes, minibatches some tens. Where these passes are short, their higher bound is worth
/// the time (bench/minibatches.R, bench/flights.R, bench/digits.R).
bool by_minibatches(const LatentGaussianModel& model, const HyperTable& table) {
  constexpr double many = 1000, much = 1e8;
  const double coordinates = static_cast<double>(table.is_place().count());
  return coordinates > many && coordinates * static_cast<double>(model.observations()) > much;
}

}  // namespace

const Algorithm& choose(const std::string& method, const LatentGaussianModel& model, const HyperTable& table,
                        bool learn_many) {
  if (method == "auto" && learn_many && by_minibatches(model, table))
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.learn && algorithm.refuses(model).empty()) return algorithm;
  return choose_algorithm(method, model);
}

}  // namespace galvi
