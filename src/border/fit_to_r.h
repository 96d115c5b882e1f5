// What fit_model() returns of a model and its posterior, as R's values.
#pragma once

#include <Rcpp/Lightest>

#include <memory>
#include <vector>

#include "model/latent_gaussian_model.h"
#include "model/trace.h"

namespace galvi {

Rcpp::DataFrame trace_to_r(const Trace& trace);

/// What is kept of each latent value's solver.
std::vector<SolverState> states_of(LatentGaussianModel& model, const Posterior& posterior, bool keep_factor);
/// list(coefficients, latent, factor): coefficients of columns, latent vectors and factors; NULL without.
Rcpp::List states_to_r(LatentGaussianModel& model, const std::vector<SolverState>& states);

/// The largest difference between predictions at the rows of `checked` and the fitted values, in posterior
/// sds: the two agree up to rounding. Last digits of a mean do not count; where a posterior has no variance,
/// the unit is a millionth of the prior's sd.
double prediction_error(LatentGaussianModel& model, const Posterior& q, const std::vector<SolverState>& states,
                        const Rcpp::List& checked);

/// Where several latent values share the columns of one prior: the joint covariance of their coefficients, qK
/// x qK; `states` then has its marginals and the corresponding means. NULL, and the states unchanged, where
/// the posterior factorises over latent values or the best coupled one is not available.
SEXP couple(LatentGaussianModel& model, const Posterior& q, std::vector<SolverState>& states);

/// c of the rows, N x K; NULL if there is none.
SEXP extra_variances(const LatentGaussianModel& model);

/// q in whitened coordinates, exactly, for use with other rows; and back, as a starting point.
Rcpp::List global_to_r(const GlobalPosterior& q);
std::shared_ptr<const Asking> global_from_list(const LatentGaussianModel& model, const Rcpp::List& list);

/// The posterior of the units of each term of factors, by its label: mean (U x d) and covariance (d x d x U).
Rcpp::List units_to_r(LatentGaussianModel& model, const Posterior& q);

}  // namespace galvi
