// What follows from the verbs of any solver.
#include "solver/solver.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/backend.h"
#include "numeric/dense.h"

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

// Through the joint covariance, where z is no shorter than the rows.
Matrix Solver::draw(const SolverState& state, const DesignRows& others, Index count) {
  ConditionalRequest joint;
  joint.covariance = true;
  Conditional at = conditional(state, others, joint);
  const Matrix root = covariance_root(context_, std::move(at.covariance));
  Matrix out = at.mean.replicate(1, count);
  multiply(context_, false, false, 1.0, root, white_noise(context_, root.cols(), count), 1.0, out);
  return out;
}

Matrix Solver::expand_draws(const DesignRows& others, const Matrix& u) {
  constexpr Index block_rows = 1024;
  const Index number = others.size(), count = u.cols();
  const Vector mean = prior_->mean(others);
  Matrix out = mean.replicate(1, count);
  for (Index begin = 0; begin < number; begin += block_rows) {
    context_.monitor.poll();
    const Index rows = std::min(block_rows, number - begin);
    Matrix W(rows, u.rows());
    prior_->fill(others, begin, W);
    auto block = out.middleRows(begin, rows);
    block.noalias() += W * u;
    if (!prior_->has_extra_variances()) continue;
    Vector c = Vector::Zero(rows);
    prior_->add_extra_variances(others, begin, W, c);
    block += c.cwiseMax(0.0).cwiseSqrt().asDiagonal() * white_noise(context_, rows, count);
  }
  return out;
}

void Solver::throw_singular() {
  throw std::domain_error(
      "the posterior's precision is singular to working precision: prior variances and noise differ by more "
      "orders of magnitude than numbers have digits. Give variances closer together (`fixed()`, `prior`), or "
      "rescale the response and the variables");
}

}  // namespace galvi
