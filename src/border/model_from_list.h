// R's description of a model becomes a core model. The list's fields are documented in R/design.R.
#pragma once

#include <Rcpp/Lightest>

#include <memory>

#include "hyper/optimise.h"
#include "inference/algorithm.h"

namespace galvi {

Data data_from_list(const Rcpp::List& model);
LikelihoodSpec likelihood_from_list(const Rcpp::List& likelihood);
HyperTable hyper_from_list(const Rcpp::List& model);
/// The prior of latent k (0-based), ready to be made into a solver.
Terms terms_from_list(const Context& context, const Rcpp::List& model, Index latent);
TermRows rows_from_list(const Rcpp::List& term);
FieldSpec field_from_list(const Rcpp::List& field);

/// `automatic`: what expectation = "auto" stands for.
LatentGaussianModel model_from_list(Context& context, const Rcpp::List& model,
                                    const std::string& automatic = "auto");

InferenceControl inference_control(const Rcpp::List& control);
HyperControl hyper_control(const Rcpp::List& control);

}  // namespace galvi
