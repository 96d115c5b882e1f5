// The points of hyper = "integrate" and the density through them, for a log density given in R.
#include <Rcpp/Lightest>

#include "border/fit_to_r.h"
#include "border/list_access.h"
#include "fit/integrate.h"

using namespace galvi;

// fall(z): by how much the log density is below that at 0
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_grid_points(int m, Rcpp::Function fall) {
  const Points points =
      grid_points(m, [&](const Vector& z) { return std::optional<double>(Rcpp::as<double>(fall(to_r(z)))); });
  return Rcpp::List::create(Rcpp::_["z"] = to_r(points.z), Rcpp::_["fall"] = to_r(points.fall));
}

// A posterior of m hyperparameters, mode 0 and axes of length one; fall(z) may be NA where there is none. -> what a fit
// keeps of it
// [[Rcpp::export(rng = false)]]
Rcpp::List probe_integrate(int m, std::string design, Rcpp::Function fall) {
  HyperPosterior posterior;
  for (Index k = 0; k < m; ++k) {
    posterior.at.push_back(k);
    posterior.free.push_back(k);
  }
  posterior.value = Vector::Zero(m);
  posterior.lower = Vector::Constant(m, -99);
  posterior.upper = Vector::Constant(m, 99);
  posterior.axes = Matrix::Identity(m, m);
  integrate(posterior, design, 0, [&](const Vector& z, bool) -> std::optional<double> {
    const double found = Rcpp::as<double>(fall(to_r(z)));
    return R_IsNA(found) ? std::nullopt : std::optional<double>(found);
  });
  return hyper_posterior_to_r(posterior);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector probe_log_density(Rcpp::List posterior, Rcpp::NumericMatrix z) {
  return to_r(log_density(hyper_posterior_from_list(posterior), from_r(z)));
}
