// What follows from the verbs of any solver.
#include "solver/solver.h"

#include <cmath>
#include <stdexcept>

namespace galvi {

Solver::Solver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design)
    : context_(context), prior_(std::move(prior)), design_(std::move(design)), rows_(design_->size()) {
  if (static_cast<Index>(design_->terms.size()) != prior_->size())
    throw std::invalid_argument("rows and prior differ in their number of terms");
  for (Index t = 0; t < prior_->size(); ++t) {
    if ((*design_)[t].size() != rows_) throw std::invalid_argument("terms differ in their number of rows");
    (*prior_)[t].check((*design_)[t]);
  }
}

// [ log|Sigma A| - sum lambda (v - c) ] / 2, since tr(Sigma^-1 A^-1) - L = -tr(Lambda V); a flat direction
// has the density 1 and not (2 pi)^(-1/2).
double Solver::covariance_kl() const {
  Vector v = marginal_variances();
  if (extra_variances().size() > 0) v -= extra_variances();
  return 0.5 * (log_det() - lambda_.dot(v) - null_dimension() * std::log(2 * M_PI));
}

void Solver::factorise_observations(const Vector& lambda, const std::string& latent) {
  if (!lambda.allFinite())
    throw std::domain_error("noise-free observations need a full gp(): " + latent +
                            " cannot interpolate them");
  if (!factorise(lambda)) throw_singular();
}

// |C + 1 / Lambda| = |Sigma A| / |Lambda| over the rows that were observed; a flat direction has the density
// 1 and not (2 pi)^(-1/2).   r' (C + 1 / Lambda)^-1 r = (r - mean)' Lambda (r - mean) + u' Sigma^-1 u
double Solver::gaussian_log_evidence(const Vector& r, const SiteMean& site_mean) const {
  const double misfit = lambda_.dot((r - site_mean.mean).cwiseAbs2());
  double out = -0.5 * (log_det() + misfit + site_mean.squared_norm);
  for (Index n = 0; n < rows(); ++n)
    if (lambda_[n] > 0) out += 0.5 * std::log(lambda_[n] / (2 * M_PI));
  return out + 0.5 * null_dimension() * std::log(2 * M_PI);
}

void Solver::throw_singular() {
  throw std::domain_error(
      "the posterior's precision is singular to working precision: prior variances and noise differ by more "
      "orders of magnitude than numbers have digits. Give variances closer together (`fixed()`, `prior`), or "
      "rescale the response and the variables");
}

}  // namespace galvi
