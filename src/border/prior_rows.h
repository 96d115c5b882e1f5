// Priors of coefficients as rows after those of data (likelihood/coefficient_priors.h). R gives and keeps designs, responses
// and sites of data alone; here the others are added.
#pragma once

#include <Rcpp/Lightest>

#include <memory>
#include <vector>

#include "likelihood/coefficient_priors.h"
#include "model/latent_gaussian_model.h"
#include "model/posterior.h"
#include "rows/row_block.h"

namespace galvi {

/// The prior of a coefficient: the latent value and the term that it belongs to, and the coefficient as a function of
/// the term's columns.
struct PriorRow {
  Index latent, design, term;
  Vector W;
  CoefficientPriorSpec spec;
};

/// A model's `prior_rows` (R/model-list.R), and their number.
std::vector<PriorRow> prior_rows_from_list(const Rcpp::List& model);
Index prior_rows(const Rcpp::List& model);
/// One of them without its columns: list(type, location, scale, df, base_sd, hyper).
CoefficientPriorSpec coefficient_prior_from_list(const Rcpp::List& row);

/// Design `number` with these rows. That of other latent values repeats its first row: the prior does not depend on them.
DesignRows with_prior_rows(const DesignRows& design, const std::vector<PriorRow>& priors, Index number);
/// The responses with these rows, and the likelihood of all. `rows` has its designs with them already.
void add_prior_rows(const std::vector<PriorRow>& priors, RowBlock& rows, std::unique_ptr<Likelihood>& likelihood);

/// A matrix of sites that R keeps, N x K, followed by its rows in `prior_rows`.
Matrix site_numbers(const Rcpp::List& list, const char* name);
Sites sites_from_list(const Rcpp::List& list);
/// Is there one for each row and latent value?
bool complete(const Sites& sites, const LatentGaussianModel& model);

}  // namespace galvi
