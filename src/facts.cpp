// The border: what the core has to offer, for R's tables of families, kernels and methods.
#include <Rcpp/Lightest>

#include "expectation/expectation.h"
#include "kernel/kernel.h"
#include "likelihood/likelihood.h"

//' One row per registered likelihood
//' @noRd
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame likelihood_facts() {
  std::vector<std::string> type;
  std::vector<bool> log_concave, conjugate, closed_form, discrete, separable;
  std::vector<int> latents, classes;
  for (const galvi::LikelihoodFacts& facts : galvi::likelihood_facts()) {
    type.push_back(facts.type);
    log_concave.push_back(facts.log_concave);
    conjugate.push_back(facts.conjugate);
    closed_form.push_back(facts.closed_form);
    discrete.push_back(facts.discrete);
    separable.push_back(facts.separable);
    latents.push_back(static_cast<int>(facts.latents));
    classes.push_back(static_cast<int>(facts.classes));
  }
  return Rcpp::DataFrame::create(
      Rcpp::_["type"] = type, Rcpp::_["log_concave"] = log_concave, Rcpp::_["conjugate"] = conjugate,
      Rcpp::_["closed_form"] = closed_form, Rcpp::_["discrete"] = discrete, Rcpp::_["separable"] = separable,
      Rcpp::_["latents"] = latents, Rcpp::_["classes"] = classes, Rcpp::_["stringsAsFactors"] = false);
}

// [[Rcpp::export(rng = false)]]
std::vector<std::string> expectation_types() { return galvi::expectation_types(); }

// [[Rcpp::export(rng = false)]]
std::vector<std::string> kernel_types() { return galvi::kernel_types(); }
