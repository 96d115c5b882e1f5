#include "fit/scan.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace galvi {

std::optional<Start> scan_lengthscales(LatentGaussianModel& model, const Algorithm& algorithm,
                                       HyperTable& table, std::optional<Start> start,
                                       InferenceControl inference, Trace& trace) {
  constexpr double rough = 1;  // nats; starts that matter differ by more, and the true gap is less
  constexpr double factor = 3;
  constexpr int tries = 3;         // the shortest is a 27th of the start
  constexpr double cube = 3;       // a variance per cubed unit of the input is the inverse of a cubed length
  constexpr double hopeless = 10;  // nats: where the bound falls by more, it has not been seen to rise again
  std::vector<std::string> terms;
  for (Index i = 0; i < table.learned(); ++i) {
    const std::string& term = table.guessed(i);
    if (!term.empty() && std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
  }
  if (terms.empty()) return start;

  inference.tol = std::max(inference.tol, rough);
  inference.one_start = true;
  inference.certified = false;
  const Vector lower = table.lower(), upper = table.upper();
  trace.stage(Stage::learning);
  double highest = -infinity;
  Vector best = table.unconstrained();
  // -> the objective there
  const auto look = [&](const Vector& x) {
    table.set_unconstrained(x);
    model.update(table.values());
    trace.attempt();
    try {
      InferenceResult found = algorithm.run(model, start, inference, trace);
      const double objective = found.posterior->elbo + table.log_prior();
      trace.judge(objective);
      if (objective > highest) {
        highest = objective;
        best = x;
        start = found.posterior.start();
      }
      return objective;
    } catch (const std::domain_error&) {  // no posterior here
      trace.judge(-infinity);
      return -infinity;
    }
  };
  look(best);
  for (const std::string& term : terms) {
    const Vector from = best;
    for (int k = 1; k <= tries; ++k) {
      Vector x = from;
      for (Index i = 0; i < x.size(); ++i)
        if (table.guessed(i) == term)
          x[i] = table.limited(i) ? std::min(x[i] + cube * k * std::log(factor), upper[i])
                                  : std::max(x[i] - k * std::log(factor), lower[i]);
      if (look(x) < highest - hopeless) break;
    }
  }
  table.set_unconstrained(best);
  model.update(table.values());
  return start;
}

}  // namespace galvi
