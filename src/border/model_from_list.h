// R's description of a model becomes a core model. The list's fields are documented in R/model-list.R.
#pragma once

#include <Rcpp/Lightest>

#include <memory>

#include "hyper/optimise.h"
#include "inference/algorithm.h"

namespace galvi {

Data data_from_list(const Rcpp::List& model);
LikelihoodSpec likelihood_from_list(const Rcpp::List& likelihood);
/// The model with its hyperparameters at the values of the table.
std::unique_ptr<Likelihood> likelihood_at(const Rcpp::List& likelihood, const Vector& hyper);
HyperTable hyper_from_list(const Rcpp::List& model);
/// The same with weak priors where the table has none; null where it has them all.
std::unique_ptr<HyperTable> proper_hyper_from_list(const Rcpp::List& model);
std::unique_ptr<PriorDensity> prior_density_from_list(const Rcpp::List& prior);
/// R's description of a linear predictor, or of several that share prior and design.
struct PredictorSpec {
  std::shared_ptr<Prior> prior;
  std::string solver;
  Index design;                // index of the design of its terms
  std::vector<Index> latents;  // the columns of eta that it describes
};
std::vector<PredictorSpec> predictors_from_list(const Context& context, const Rcpp::List& model);
DesignRows design_from_list(const Rcpp::List& design);
/// All of the model's designs, with rows for the priors of coefficients at the end of each.
std::vector<std::shared_ptr<const DesignRows>> designs_from_list(const Rcpp::List& model);
FieldSpec field_from_list(const Rcpp::List& field);
KernelSpec kernel_from_list(const Rcpp::List& kernel);

/// From the mean and the lower factor of the covariance of coefficients, as a fit keeps them, at the prior's
/// current hyperparameters.
LatentPosterior latent_from_list(Context& context, const Prior& prior, const Rcpp::List& latent);

/// `automatic`: the expectation that "auto" chooses.
std::unique_ptr<Expectation> expectation_from_list(const Rcpp::List& model, const Likelihood& likelihood,
                                                   const std::string& automatic = "auto");
LatentGaussianModel model_from_list(Context& context, const Rcpp::List& model,
                                    const std::string& automatic = "auto");

InferenceControl inference_control(const Rcpp::List& control);
HyperControl hyper_control(const Rcpp::List& control);

}  // namespace galvi
