#include "inference/several_starts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "likelihood/mixed.h"
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

/// From these sites, unless there is no posterior.
std::optional<InferenceResult> run_from(LatentGaussianModel& model, const Algorithm& algorithm,
                                        const Sites& sites, const InferenceControl& control) {
  Trace aside(model.context());
  try {
    return algorithm.run(model, sites, control, aside);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

/// Rows that are priors of coefficients which q has elsewhere.
std::vector<Index> moved_coefficients(const LatentGaussianModel& model, const Posterior& q,
                                      const Posterior& other) {
  std::vector<Index> out;
  const Mixed* mixed = model.likelihood().mixed();
  if (!mixed || !mixed->has_priors()) return out;
  for (Index n = 0; n < model.rows(); ++n) {
    const Datum datum = model.data()[n];
    if (!mixed->is_prior(datum)) continue;
    const Index k = mixed->latent(datum.part);
    if (std::fabs(other->mean(n, k) - q->mean(n, k)) > std::sqrt(q->variance(n, k))) out.push_back(n);
  }
  return out;
}

/// With a prior that has a peak each coefficient may have two places, and a start puts all of them in one or the other.
/// Those that `other` has elsewhere than `best` are put there one after the other, and stay where the bound is higher.
void choose_places(LatentGaussianModel& model, const Algorithm& algorithm, const Posterior& other,
                   const InferenceControl& control, InferenceResult& best, std::vector<double>& bounds) {
  const std::vector<Index> moved = moved_coefficients(model, best.posterior, other);
  if (moved.size() < 2) return;
  const Sites there = other.sites();
  for (const Index n : moved) {
    Sites sites = best.posterior.sites();
    sites.lambda.row(n) = there.lambda.row(n);
    sites.b.row(n) = there.b.row(n);
    std::optional<InferenceResult> found = run_from(model, algorithm, sites, control);
    if (!found || !(found->posterior->elbo > best.posterior->elbo + agreement)) continue;
    best = std::move(*found);
    bounds.push_back(best.posterior->elbo);
  }
}

}  // namespace

InferenceResult best_of_starts(LatentGaussianModel& model, const Algorithm& algorithm, InferenceResult first,
                               const InferenceControl& control, Trace& trace) {
  if (control.one_start || model.one_optimum() || !model.expectation().consistent() || !model.has_all_rows())
    return first;

  std::vector<double> bounds{first.posterior->elbo};
  InferenceResult best = first;
  std::vector<Posterior> found{first.posterior};
  for (const Sites& sites : other_starts(model)) {
    std::optional<InferenceResult> other = run_from(model, algorithm, sites, control);
    if (!other) continue;
    if (other->converged) bounds.push_back(other->posterior->elbo);
    found.push_back(other->posterior);
    if (other->posterior->elbo > best.posterior->elbo + agreement) best = std::move(*other);
  }
  for (const Posterior& other : found) choose_places(model, algorithm, other, control, best, bounds);
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
