// What fit_model() returns, as R's values, and what it is given of them.
#pragma once

#include <Rcpp/Lightest>

#include <memory>

#include "fit/fit.h"

namespace galvi {

Rcpp::List trace_to_r(const Trace& trace);
Rcpp::List fit_to_r(const LatentGaussianModel& model, const FitResult& result, const Algorithm& algorithm,
                    const Trace& trace);
/// `fit$hyper_posterior`, and back: what hyper_points() reads of it.
Rcpp::List hyper_posterior_to_r(const HyperPosterior& posterior);
HyperPosterior hyper_posterior_from_list(const Rcpp::List& list);
CheckedRows checked_from_list(const Rcpp::List& list);

/// q in whitened coordinates, exactly, for use with other rows; and back, as a starting point.
Rcpp::List global_to_r(const GlobalPosterior& q);
GlobalPosterior global_from_list(const LatentGaussianModel& model, const Rcpp::List& list);

}  // namespace galvi
