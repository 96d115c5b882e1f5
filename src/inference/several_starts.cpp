#include "inference/several_starts.h"

#include <algorithm>
#include <cstdio>

#include "model/start.h"

namespace galvi {

namespace {

constexpr double agreement = 1e-4;  // nats: starts whose bounds differ by less have found the same optimum

std::string list_of(const std::vector<double>& bounds) {
  std::string out;
  for (double bound : bounds) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.3f", out.empty() ? "" : ", ", bound);
    out += text;
  }
  return out;
}

}  // namespace

InferenceResult best_of_starts(LatentGaussianModel& model, const Algorithm& algorithm, InferenceResult first,
                               const InferenceControl& control, Trace& trace) {
  if (control.one_start || model.one_optimum() || !model.expectation().consistent() || !model.has_all_rows())
    return first;

  std::vector<double> bounds{first.posterior->elbo};
  InferenceResult best = first;
  for (const Sites& sites : other_starts(model)) {
    Trace aside(model.context());
    InferenceResult other;
    try {
      other = algorithm.run(model, sites, control, aside);
    } catch (const std::domain_error&) {
      continue;  // no posterior here
    }
    if (other.converged) bounds.push_back(other.posterior->elbo);
    if (other.posterior->elbo > best.posterior->elbo + agreement) best = std::move(other);
  }
  if (best.posterior->elbo > first.posterior->elbo)
    best = algorithm.run(model, best.posterior.start(), control, trace);
  else
    model.restore(best.posterior);
  const std::string note = several_optima(bounds);
  if (!note.empty()) best.note = note;
  return best;
}

std::string several_optima(const std::vector<double>& bounds) {
  const auto [lowest, highest] = std::minmax_element(bounds.begin(), bounds.end());
  if (*highest - *lowest <= agreement) return "";
  return "this bound has several optima, of which the best found is reported: inference from " +
         std::to_string(bounds.size()) + " starts ended at " + list_of(bounds) + " nats";
}

}  // namespace galvi
