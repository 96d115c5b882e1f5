#include "fit/pilot.h"

#include <algorithm>

#include "fit/curvature.h"
#include "global/global_model.h"
#include "inference/several_starts.h"

namespace galvi {

namespace {

constexpr double rough = 1e-3;  // nats; what part of the rows says is off by more

}  // namespace

std::optional<Matrix> learn_from_part(LatentGaussianModel& part, const Method& method, InferenceControl inference,
                                      HyperTable& table) {
  constexpr double reach = 2;
  const Vector before = table.values(), from = table.unconstrained();
  part.update(before);
  HyperControl hyper;
  inference.tol = std::max(inference.tol, rough);
  hyper.tol = 3e-6;
  Trace aside(part.context());
  try {
    const Algorithm& algorithm = choose(method, part);
    const Fit fit = fit_hyper(part, algorithm, table, true, std::nullopt, inference, hyper, aside);
    std::optional<Matrix> hessian;
    if (part.one_optimum() && part.estimates_distance())
      hessian = search_hessian(part, algorithm, table, fit.inference.posterior.start(), inference);
    Vector x = table.unconstrained();
    for (Index i = 0; i < x.size(); ++i)
      if (!table.is_place()[i]) x[i] = std::clamp(x[i], from[i] - reach, from[i] + reach);
    table.set_unconstrained(x);
    return hessian;
  } catch (const std::domain_error&) {
    table.set_values(before);  // all rows may do better
    return std::nullopt;
  }
}

std::optional<Start> start_from_part(const LatentGaussianModel& model, LatentGaussianModel& part,
                                     const Algorithm& algorithm, InferenceControl control) {
  if (model.one_optimum() || !model.expectation().consistent() || !model.sums_suffice()) return std::nullopt;
  part.update(model.hyper());
  control.tol = std::max(control.tol, rough);
  Trace aside(part.context());
  try {
    const InferenceResult found =
        best_of_starts(part, algorithm, algorithm.run(part, std::nullopt, control, aside), control, aside);
    const double copies = static_cast<double>(model.observations()) / static_cast<double>(part.rows());
    auto q = GlobalModel(part).posterior_of(found.posterior.sites(), copies);
    if (q) return start_at(std::move(*q));
  } catch (const std::domain_error&) {
  }
  return std::nullopt;
}

}  // namespace galvi
