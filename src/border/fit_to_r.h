// What fit_model() returns of a model and its posterior, as R's values.
#pragma once

#include <Rcpp/Lightest>

#include <memory>
#include <vector>

#include "model/latent_gaussian_model.h"
#include "model/trace.h"

namespace galvi {

Rcpp::DataFrame trace_to_r(const Trace& trace);

/// What is kept of every latent value's solver.
std::vector<SolverState> states_of(LatentGaussianModel& model, const Posterior& posterior, bool keep_factor);
/// list(coefficients, latent, factor): coefficients of columns, latent vectors and factors; NULL without.
Rcpp::List states_to_r(LatentGaussianModel& model, const std::vector<SolverState>& states);

/// How far predictions at the rows of `checked` are from the fitted values, at most, in posterior sds: the same
/// numbers but for rounding. Last digits of a mean do not count; where a posterior has no variance, a
/// millionth of the prior's sd is the unit.
double prediction_error(LatentGaussianModel& model, const Posterior& q, const std::vector<SolverState>& states,
                        const Rcpp::List& checked);

/// Where several latent values share the columns of one prior: the joint covariance of their coefficients, qK x
/// qK. `states` then have its marginals, with the means that belong to them. NULL, and the states as they were,
/// where the posterior factorises over latent values or nothing is known of the best one that does not.
SEXP couple(LatentGaussianModel& model, const Posterior& q, std::vector<SolverState>& states);

/// c of the rows, N x K; NULL where there is none.
SEXP extra_variances(const LatentGaussianModel& model);

/// q in whitened coordinates, to the last bit: from here it can be carried to other rows. And back, as a start.
Rcpp::List global_to_r(const GlobalPosterior& q);
std::shared_ptr<const Asking> global_from_list(const LatentGaussianModel& model, const Rcpp::List& list);

/// The posterior of the units of each term of factors, by its label: mean (U x d) and covariance (d x d x U).
Rcpp::List units_to_r(LatentGaussianModel& model, const Posterior& q);

}  // namespace galvi
