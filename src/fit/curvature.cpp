#include "fit/curvature.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <Eigen/Eigenvalues>

#include "fit/choose.h"

namespace galvi {

namespace {

// The error has two parts, step^2 times a fourth derivative and sqrt(gap) / step: these balance at 1e-4.
constexpr double step = 0.01, gap = 1e-9;

/// The fastest algorithm with the same optimum: all that maximise a bound end at the same place.
const Algorithm& quickest(const Algorithm& algorithm, const LatentGaussianModel& model) {
  const bool own = algorithm.gradient || algorithm.facts.evidence != Evidence::bound;
  return own || !model.one_optimum() ? algorithm : choose({}, model);
}

/// Where inference starts on the other side of the mode: sites are extrapolated to second order, which leaves
/// one or two steps of inference.
Start opposite(const Start& mode, const Start& side) {
  const Sites *at = std::get_if<Sites>(&mode), *other = sites_in(side);
  if (!at || !other || at->lambda.size() == 0 || other->lambda.size() != at->lambda.size() ||
      (at->lambda.array() <= 0).any())
    return mode;
  return Sites{(2 * at->lambda - other->lambda).cwiseMax(0.5 * at->lambda), 2 * at->b - other->b};
}

}  // namespace

std::optional<Matrix> objective_hessian(LatentGaussianModel& model, const Algorithm& algorithm,
                                        HyperTable& table, const std::vector<Index>& which, const Start& mode,
                                        InferenceControl control, const SideVisit& visit) {
  const Algorithm& climber = quickest(algorithm, model);
  control.tol = std::min(control.tol, gap);
  control.certified = false;
  control.one_start = true;
  Trace aside(model.context());
  aside.stage(Stage::silent);
  const Vector x0 = table.unconstrained(), values = table.values();
  const auto gradient = [&](Index i, double move, const Start& start, Start& found) {
    Vector x = x0;
    x[which[i]] += move;
    table.set_unconstrained(x);
    model.update(table.values());
    const Posterior q = climber.run(model, start, control, aside).posterior;
    found = q.start();
    Vector out = table.chain(climber.objective_gradient(model, q, table.size()));
    if (visit) visit(i, move, q);
    return out;
  };
  const Index m = static_cast<Index>(which.size());
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Matrix out(m, m);
  std::optional<Matrix> result;
  try {
    for (Index i = 0; i < m; ++i) {
      Start found;
      model.context().monitor.report({"Computing intervals of the hyperparameters", static_cast<int>(i) + 1,
                                      none, none, static_cast<int>(m)});
      Vector change = gradient(i, step, mode, found);
      change -= gradient(i, -step, opposite(mode, found), found);
      change /= 2 * step;
      for (Index j = 0; j < m; ++j) out(j, i) = change[which[j]];
    }
    if (out.allFinite()) result = 0.5 * (out + out.transpose());
  } catch (const std::domain_error&) {
  }
  table.set_values(values);
  return result;
}

std::optional<Matrix> search_hessian(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                                     const Start& start, const InferenceControl& control) {
  constexpr Index most = 12;    // that are worth their inferences
  constexpr double least = 0.1;  // curvature: a nat over some units
  if (table.learned() > most) return std::nullopt;
  std::vector<Index> all(table.learned());
  std::iota(all.begin(), all.end(), Index{0});
  const std::optional<Matrix> found = objective_hessian(model, algorithm, table, all, start, control);
  if (!found) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(-*found);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(least).asDiagonal() * eigen.eigenvectors().transpose();
}

Curvature curvature_at(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                       const std::vector<Index>& wanted, const Start& mode, const InferenceControl& control,
                       const SideVisit& visit) {
  Curvature out{table.learned_positions(), table.unconstrained(), table.lower(), table.upper(), {}, {}};
  for (std::size_t i = 0; i < out.at.size(); ++i)
    if (std::find(wanted.begin(), wanted.end(), out.at[i]) != wanted.end())
      out.which.push_back(static_cast<Index>(i));
  if (out.which.empty()) return out;
  const Cost cost = model.context().cost;
  out.hessian = objective_hessian(model, algorithm, table, out.which, mode, control, visit);
  model.context().cost = cost;  // what a fit costs is what the search does
  return out;
}

}  // namespace galvi
