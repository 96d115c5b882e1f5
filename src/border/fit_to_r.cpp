#include "border/fit_to_r.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "border/list_access.h"
#include "border/model_from_list.h"
#include "global/coupled.h"
#include "numeric/dense.h"
#include "prior/factors_term.h"

namespace galvi {

Rcpp::DataFrame trace_to_r(const Trace& trace) {
  const auto& rows = trace.rows();
  const int n = static_cast<int>(rows.size());
  Rcpp::IntegerVector iteration(n), start(n), step(n), factorisations(n), products(n), sweeps(n);
  Rcpp::NumericVector seconds(n), flops(n), elbo(n), gap(n), visited(n);
  for (int i = 0; i < n; ++i) {
    iteration[i] = rows[i].iteration;
    start[i] = rows[i].start;
    step[i] = rows[i].step == TraceRow::no_step ? NA_INTEGER : rows[i].step;
    seconds[i] = rows[i].seconds;
    flops[i] = rows[i].cost.flops;
    elbo[i] = rows[i].elbo;
    gap[i] = std::isnan(rows[i].gap) ? NA_REAL : rows[i].gap;
    factorisations[i] = rows[i].cost.factorisations;
    products[i] = rows[i].cost.products;
    sweeps[i] = rows[i].cost.sweeps;
    visited[i] = rows[i].cost.rows;
  }
  return Rcpp::DataFrame::create(Rcpp::_["iteration"] = iteration, Rcpp::_["seconds"] = seconds,
                                 Rcpp::_["flops"] = flops, Rcpp::_["elbo"] = elbo, Rcpp::_["gap"] = gap,
                                 Rcpp::_["factorisations"] = factorisations, Rcpp::_["products"] = products,
                                 Rcpp::_["sweeps"] = sweeps, Rcpp::_["rows"] = visited, Rcpp::_["start"] = start,
                                 Rcpp::_["step"] = step);
}

std::vector<SolverState> states_of(LatentGaussianModel& model, const Posterior& posterior, bool keep_factor) {
  std::vector<SolverState> out;
  for (Index k = 0; k < model.latents(); ++k)
    out.push_back(model.solver(k).state(posterior.site_mean(k), keep_factor));
  return out;
}

double prediction_error(LatentGaussianModel& model, const Posterior& q,
                        const std::vector<SolverState>& states, const Rcpp::List& checked) {
  constexpr double last_digits = 1e-9, unit_without_variance = 1e-6;
  const std::vector<Index> at = positions(field(checked, "at"));
  std::vector<DesignRows> designs;
  for (const auto& design : get<Rcpp::List>(checked, "rows")) designs.push_back(design_from_list(design));
  ConditionalRequest means;
  means.variance = false;
  double out = 0;
  for (Index k = 0; k < model.latents(); ++k) {
    const Solver& solver = model.solver(k);
    const Vector mean =
        model.solver(k).conditional(states[k], designs.at(model.predictor(k).design), means).mean;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const Index n = at[i];
      const double fitted = q.centred(n, k) + solver.prior_mean()[n];
      const double prior_variance = model.prior_variances()(n, k), variance = q.variance(n, k);
      const double sd = variance > 0 ? std::sqrt(variance) : unit_without_variance * std::sqrt(prior_variance);
      const double difference = std::abs(mean[i] - fitted);
      if (!(difference <= last_digits * std::abs(fitted))) out = std::max(out, difference / sd);
      if (variance > 0 && solver.predicts_by_subtraction())
        out = std::max(out, 0.5 * std::numeric_limits<double>::epsilon() * prior_variance / variance);
    }
  }
  return out;
}

namespace {

/// Coefficients of columns, by prior and term; `latents` gives the latent values they belong to.
Rcpp::List coefficients_to_r(LatentGaussianModel& model, const std::vector<SolverState>& states) {
  Rcpp::List out;
  for (std::size_t p = 0; p < model.priors().size(); ++p) {
    Rcpp::IntegerVector latents;
    std::vector<std::vector<Coefficients>> columns;
    for (Index k = 0; k < model.latents(); ++k) {
      if (model.prior_index(k) != static_cast<Index>(p)) continue;
      latents.push_back(static_cast<int>(k) + 1);
      columns.push_back(model.solver(k).coefficients(states[k]));
    }
    for (std::size_t t = 0; t < columns[0].size(); ++t) {
      Matrix mean(columns[0][t].mean.size(), latents.size());
      Rcpp::List covariance(latents.size());
      for (Index i = 0; i < latents.size(); ++i) {
        mean.col(i) = columns[i][t].mean;
        covariance[i] = to_r(columns[i][t].covariance);
      }
      out.push_back(Rcpp::List::create(Rcpp::_["label"] = columns[0][t].label, Rcpp::_["latents"] = latents,
                                       Rcpp::_["mean"] = to_r(mean), Rcpp::_["covariance"] = covariance));
    }
  }
  return out;
}

}  // namespace

Rcpp::List states_to_r(LatentGaussianModel& model, const std::vector<SolverState>& states) {
  Rcpp::List latent(model.latents()), factor(model.latents());
  bool has_latent = false, has_factor = false;
  for (Index k = 0; k < model.latents(); ++k) {
    const SolverState& state = states[k];
    if (state.latent_mean.size() > 0) {
      has_latent = true;
      latent[k] = Rcpp::List::create(Rcpp::_["mean"] = to_r(state.latent_mean),
                                     Rcpp::_["chol"] = to_r(state.latent_chol));
    }
    if (state.factor.size() > 0) {
      has_factor = true;
      factor[k] = to_r(state.factor);
    }
  }
  return Rcpp::List::create(Rcpp::_["coefficients"] = coefficients_to_r(model, states),
                            Rcpp::_["latent"] = has_latent ? SEXP(latent) : R_NilValue,
                            Rcpp::_["factor"] = has_factor ? SEXP(factor) : R_NilValue);
}

SEXP couple(LatentGaussianModel& model, const Posterior& q, std::vector<SolverState>& states) {
  constexpr Index most = 2000;  // largest number of coefficients whose joint covariance is kept
  const Index K = model.latents();
  if (K == 1 || model.priors().size() > 1 || !model.sums_suffice() || !model.expectation().exact())
    return R_NilValue;
  const Prior& prior = *model.predictor(0).prior;
  const Index L = prior.columns();
  if (!prior.finite() || prior.has_extra_variances() || L * K > most) return R_NilValue;
  GlobalModel sums(model);
  const std::optional<GlobalPosterior> factorised = q.global ? *q.global : sums.posterior_of(q.sites, 1);
  if (!factorised) return R_NilValue;
  const std::optional<CoupledPosterior> coupled = coupled_posterior(sums, *factorised);
  if (!coupled) return R_NilValue;
  const Vector scale = prior.scale().replicate(K, 1);
  const Matrix covariance = scale.asDiagonal() * coupled->covariance * scale.asDiagonal();
  for (Index k = 0; k < K; ++k) {
    Matrix root = coupled->covariance.block(k * L, k * L, L, L);
    if (!cholesky(model.context(), root)) return R_NilValue;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    states[k].latent_mean =
        prior.coefficient_mean() + prior.scale().cwiseProduct(coupled->mean.segment(k * L, L));
    states[k].latent_chol = prior.scale().asDiagonal() * root;
  }
  return to_r(covariance);
}

SEXP extra_variances(const LatentGaussianModel& model) {
  Matrix out = Matrix::Zero(model.rows(), model.latents());
  bool any = false;
  for (Index k = 0; k < model.latents(); ++k) {
    const Vector& c = model.solver(k).extra_variances();
    if (c.size() == 0) continue;
    any = true;
    out.col(k) = c;
  }
  return any ? SEXP(to_r(out)) : R_NilValue;
}

Rcpp::List global_to_r(const GlobalPosterior& q) {
  Rcpp::List out;
  for (const LatentPosterior& part : q)
    out.push_back(Rcpp::List::create(Rcpp::_["mean"] = to_r(part.mean), Rcpp::_["precision"] = to_r(part.precision)));
  return out;
}

std::shared_ptr<const Asking> global_from_list(const LatentGaussianModel& model, const Rcpp::List& list) {
  auto out = std::make_shared<Asking>();
  for (Index k = 0; k < model.latents(); ++k) {
    const Rcpp::List part = Rcpp::List(list).at(k);
    auto q = make_latent_posterior(model.context(), *model.predictor(k).prior, get_vector(part, "mean"),
                                   get_matrix(part, "precision"));
    if (!q) throw std::invalid_argument("a precision in `start` is not positive definite");
    out->q.push_back(std::move(*q));
  }
  return out;
}

Rcpp::List units_to_r(LatentGaussianModel& model, const Posterior& q) {
  Rcpp::List out;
  for (Index k = 0; k < model.latents(); ++k) {
    const Prior& prior = *model.predictor(k).prior;
    for (Index t = 0; t < prior.size(); ++t) {
      const FactorsTerm* term = prior[t].factors();
      if (!term) continue;
      model.restore(q);
      const UnitMoments moments = model.solver(k).unit_moments(t, q.sites.b.col(k));
      Rcpp::NumericVector covariance(moments.covariance.data(), moments.covariance.data() + moments.covariance.size());
      covariance.attr("dim") = Rcpp::IntegerVector::create(
          static_cast<int>(term->dimension()), static_cast<int>(term->dimension()), static_cast<int>(term->units()));
      out.push_back(Rcpp::List::create(Rcpp::_["mean"] = to_r(Matrix(moments.mean.transpose())),
                                       Rcpp::_["covariance"] = covariance),
                    prior[t].label());
    }
  }
  return out;
}

}  // namespace galvi
