#include "fit/state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "prior/factors_term.h"

namespace galvi {

namespace {

std::vector<TermUnits> units_of(LatentGaussianModel& model, const Posterior& q) {
  std::vector<TermUnits> out;
  for (Index k = 0; k < model.latents(); ++k) {
    const Prior& prior = *model.predictor(k).prior;
    for (Index t = 0; t < prior.size(); ++t) {
      if (!prior[t].factors()) continue;
      model.restore(q);
      out.push_back({prior[t].label(), model.solver(k).unit_moments(t, q.sites().b.col(k))});
    }
  }
  return out;
}

std::vector<TermCoefficients> coefficients_of(LatentGaussianModel& model,
                                              const std::vector<SolverState>& states) {
  std::vector<TermCoefficients> out;
  for (std::size_t p = 0; p < model.priors().size(); ++p) {
    std::vector<Index> latents;
    std::vector<std::vector<Coefficients>> columns;  // of each of these
    for (Index k = 0; k < model.latents(); ++k) {
      if (model.prior_index(k) != static_cast<Index>(p)) continue;
      latents.push_back(k);
      columns.push_back(model.solver(k).coefficients(states[k]));
    }
    for (std::size_t t = 0; t < columns[0].size(); ++t) {
      TermCoefficients term{
          columns[0][t].label, latents, Matrix(columns[0][t].mean.size(), latents.size()), {}};
      for (std::size_t i = 0; i < latents.size(); ++i) {
        term.mean.col(i) = columns[i][t].mean;
        term.covariance.push_back(columns[i][t].covariance);
      }
      out.push_back(std::move(term));
    }
  }
  return out;
}

Matrix extra_variances(const LatentGaussianModel& model) {
  Matrix out;
  for (Index k = 0; k < model.latents(); ++k) {
    const Vector& c = model.solver(k).extra_variances();
    if (c.size() == 0) continue;
    if (out.size() == 0) out = Matrix::Zero(model.rows(), model.latents());
    out.col(k) = c;
  }
  return out;
}

}  // namespace

State state_of(LatentGaussianModel& model, const Posterior& q, bool keep_factor) {
  State out;
  out.units = units_of(model, q);
  for (Index k = 0; k < model.latents(); ++k)
    out.states.push_back(model.solver(k).state(q->site_mean(k), keep_factor));
  out.coupling = couple(model, q, out.states);
  out.coefficients = coefficients_of(model, out.coupling ? out.coupling->states : out.states);
  out.variance = model.whole_variance(q);
  out.extra = extra_variances(model);
  return out;
}

double prediction_error(LatentGaussianModel& model, const Posterior& q,
                        const std::vector<SolverState>& states, const CheckedRows& checked) {
  constexpr double last_digits = 1e-9, unit_without_variance = 1e-6;
  ConditionalRequest means;
  means.variance = false;
  double out = 0;
  for (Index k = 0; k < model.latents(); ++k) {
    Solver& solver = model.solver(k);
    const Vector mean =
        solver.conditional(states[k], checked.designs.at(model.predictor(k).design), means).mean;
    for (std::size_t i = 0; i < checked.at.size(); ++i) {
      const Index n = checked.at[i];
      const double fitted = q->centred(n, k) + solver.prior_mean()[n];
      const double prior_variance = model.prior_variances()(n, k), variance = q->variance(n, k);
      const double sd =
          variance > 0 ? std::sqrt(variance) : unit_without_variance * std::sqrt(prior_variance);
      const double difference = std::abs(mean[i] - fitted);
      if (!(difference <= last_digits * std::abs(fitted))) out = std::max(out, difference / sd);
      if (variance > 0 && solver.predicts_by_subtraction())
        out = std::max(out, 0.5 * std::numeric_limits<double>::epsilon() * prior_variance / variance);
    }
  }
  return out;
}

}  // namespace galvi
