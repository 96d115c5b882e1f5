// Densities and kernels that are R functions.
#pragma once

#include <Rcpp/Lightest>

#include "kernel/custom.h"
#include "likelihood/custom.h"

namespace galvi {

/// `functions` of a custom likelihood in the model list, see R/family-custom.R.
std::shared_ptr<const DensityFunctions> density_from_r(const Rcpp::List& functions);
/// `functions` of a custom kernel, see R/kernel-custom.R.
std::shared_ptr<const CovarianceFunctions> covariance_from_r(const Rcpp::List& functions);

}  // namespace galvi
