#include "fit/mode.h"

#include <cmath>

#include "fit/curvature.h"

namespace galvi {

namespace {

Vector column_variances(const State& state) {
  std::vector<double> out;
  for (const TermCoefficients& term : state.coefficients)
    for (const Matrix& covariance : term.covariance)
      for (Index i = 0; i < covariance.rows(); ++i) out.push_back(covariance(i, i));
  return Eigen::Map<const Vector>(out.data(), static_cast<Index>(out.size()));
}

}  // namespace

Mode mode_of(LatentGaussianModel& model, HyperTable& table, const Plan& plan, const FitResult& found,
             bool proper, const MeansOf& means) {
  Mode out{found.fit, found.state, {}, {}};
  Trace aside(model.context());
  aside.stage(Stage::silent);
  if (proper && plan.proper) {
    const Cost cost = model.context().cost;
    const HyperTable learned = table;
    table = *plan.proper;
    try {
      table.set_values(table.away_from_bounds(found.fit.hyper));
      model.update(table.values());
      InferenceControl control = plan.inference;
      control.one_start = true;
      // the mode is near, and a search without a Hessian tries places far away first
      const Algorithm& algorithm = choose(plan.method, model);
      const Start start = found.fit.inference.posterior.start();
      HyperControl hyper = plan.hyper;
      hyper.hessian = search_hessian(model, algorithm, table, start, control);
      out.fit = fit_hyper(model, algorithm, table, true, start, control, hyper, aside);
      if (!out.fit.inference.message.empty()) throw std::domain_error(out.fit.inference.message);
      out.state = state_of(model, out.fit.inference.posterior, plan.keep_factor);
    } catch (const std::domain_error&) {  // the fit is as good without it
      out.fit = found.fit;
      out.state = found.state;
      table = learned;
      model.update(table.values());
    }
    model.context().cost = cost;
  }
  std::vector<Vector> up, down;
  const SideVisit visit = [&](Index, double move, const Posterior& q) {
    (move > 0 ? up : down).push_back(means(q) / (2 * std::abs(move)));
  };
  const std::vector<bool> at_bound = table.at_bound();
  const Curvature curvature =
      curvature_at(model, *plan.algorithm, table, plan.curvature, out.fit.inference.posterior.start(),
                   plan.inference, means ? visit : SideVisit());
  out.posterior = normal_posterior(curvature, at_bound);
  if (!means || !out.posterior || up.empty() || up.size() != curvature.which.size() ||
      down.size() != up.size())
    return out;
  out.slope.resize(up.front().size(), out.posterior->size());
  Index column = 0;
  for (std::size_t i = 0; i < up.size(); ++i)
    if (column < out.posterior->size() && out.posterior->free[column] == curvature.which[i])
      out.slope.col(column++) = up[i] - down[i];
  return out;
}

Vector column_means(const State& state) {
  std::vector<double> out;
  for (const TermCoefficients& term : state.coefficients)
    out.insert(out.end(), term.mean.data(), term.mean.data() + term.mean.size());
  return Eigen::Map<const Vector>(out.data(), static_cast<Index>(out.size()));
}

bool is_uncertain(const Mode& mode, const HyperTable& table) {
  constexpr double wide = 0.15, most_share = 0.05;
  const std::vector<bool> at_bound = table.at_bound();
  for (Index i = 0; i < table.learned(); ++i)
    if (table.limited(i) && at_bound[table.learned_positions()[i]]) return true;
  if (!mode.posterior) return false;
  if (mode.posterior->axes.rowwise().norm().maxCoeff() > wide) return true;
  if (mode.slope.size() == 0) return false;
  const Vector more = (mode.slope * mode.posterior->axes).rowwise().squaredNorm();
  return (more.array() > most_share * column_variances(mode.state).array()).any();
}

CoefficientGaussian joint_at_mode(const Mode& mode, const CoefficientGaussian& given) {
  const Index L = given.mean.size(), m = mode.posterior ? mode.posterior->size() : 0;
  CoefficientGaussian out{Vector(L + m), Matrix::Zero(L + m, L + m)};
  out.mean.head(L) = given.mean;
  out.covariance.topLeftCorner(L, L) = given.covariance;
  if (m == 0) return out;
  const Matrix covariance = mode.posterior->axes * mode.posterior->axes.transpose();
  for (Index i = 0; i < m; ++i) out.mean[L + i] = mode.posterior->value[mode.posterior->free[i]];
  out.covariance.bottomRightCorner(m, m) = covariance;
  if (mode.slope.size() > 0) {
    out.covariance.topLeftCorner(L, L) += mode.slope * covariance * mode.slope.transpose();
    out.covariance.topRightCorner(L, m) = mode.slope * covariance;
    out.covariance.bottomLeftCorner(m, L) = covariance * mode.slope.transpose();
  }
  return out;
}

}  // namespace galvi
