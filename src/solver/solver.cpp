// What every solver derives from its verbs.
#include "solver/solver.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/accurate_sum.h"
#include "numeric/backend.h"
#include "numeric/dense.h"
#include "prior/factors_term.h"

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

// z = W_u alpha; with C_zf = W_u in the unit's rows, cov(z, f) = C_zf (I - Lambda V) and
// cov(z) = I - C_zf (Lambda - Lambda V Lambda) C_zf'.
UnitMoments Solver::unit_moments(Index t, const Vector& b) {
  const FactorsTerm& term = *(*prior_)[t].factors();
  const TermRows& rows = (*design_)[t];
  const Index d = term.dimension(), units = term.units();
  std::vector<std::vector<Index>> of(units);
  for (Index n = 0; n < rows_; ++n) of.at(rows.node(n)).push_back(n);
  const Vector alpha = posterior_mean(b).alpha;
  const Matrix identity = Matrix::Identity(d, d);
  UnitMoments out{Matrix::Zero(d, units), Matrix(d * d, units), Matrix(d, rows_)};
  out.covariance.colwise() = Eigen::Map<const Vector>(identity.data(), d * d);
  for (Index u = 0; u < units; ++u) {
    const Index n = static_cast<Index>(of[u].size());
    if (n == 0) continue;
    context_.monitor.poll();
    const Matrix V = covariance(of[u]);
    Matrix W(d, n), own(n, n);
    Vector lambda(n);
    for (Index i = 0; i < n; ++i) {
      W.col(i) = term.loadings().col(rows.item(of[u][i]));
      lambda[i] = lambda_[of[u][i]];
      out.mean.col(u) += alpha[of[u][i]] * W.col(i);
      for (Index j = 0; j < n; ++j) own(j, i) = V(of[u][j], i);
    }
    const Matrix cross = W - W * lambda.asDiagonal() * own;
    const Matrix S = identity - cross * lambda.asDiagonal() * W.transpose();
    for (Index i = 0; i < n; ++i) out.cross.col(of[u][i]) = cross.col(i);
    out.covariance.col(u) = Eigen::Map<const Vector>(S.data(), d * d);
  }
  return out;
}

// [ log|Sigma A| - sum lambda (v - c) ] / 2, since tr(Sigma^-1 A^-1) - L = -tr(Lambda V). A flat direction
// has density 1 and not (2 pi)^(-1/2).
double Solver::covariance_kl() const {
  Vector v = marginal_variances();
  if (extra_variances().size() > 0) v -= extra_variances();
  return 0.5 * (log_det() - lambda_.dot(v) - null_dimension() * std::log(2 * M_PI));
}

SiteMean Solver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  factorise_observations(lambda);
  SiteMean out = posterior_mean(lambda.cwiseProduct(r));
  log_evidence = gaussian_log_evidence(r, out);
  return out;
}

void Solver::factorise_observations(const Vector& lambda) {
  if (!lambda.allFinite())
    throw std::domain_error("noise-free observations need a full gp(): " + latent_words() +
                            " cannot interpolate them; give the noise a variance of a millionth of the response's, "
                            "such as galvi_family(\"gaussian\", variance = fixed(1e-6)), or learn it and leave out "
                            "effects that each row has alone");
  if (!factorise(lambda)) throw_singular();
}

// |C + 1 / Lambda| = |Sigma A| / |Lambda| over the observed rows. A flat direction has density 1 and not (2
// pi)^(-1/2).   r' (C + 1 / Lambda)^-1 r = (r - mean)' Lambda (r - mean) + u' Sigma^-1 u
double Solver::gaussian_log_evidence(const Vector& r, const SiteMean& site_mean) const {
  const double misfit = lambda_.dot((r - site_mean.mean).cwiseAbs2());
  AccurateSum log_lambda;
  for (Index n = 0; n < rows(); ++n)
    if (lambda_[n] > 0) log_lambda.add(std::log(lambda_[n] / (2 * M_PI)));
  return 0.5 * (log_lambda.value() - (log_det() + misfit + site_mean.squared_norm) +
                static_cast<double>(null_dimension()) * std::log(2 * M_PI));
}

SolverState Solver::state(const SiteMean& site_mean, bool) {
  SolverState out;
  out.alpha = site_mean.alpha;
  out.lambda = lambda_;
  out.b = site_mean.alpha + lambda_.cwiseProduct(site_mean.mean);
  return out;
}

// By the joint covariance, where z is at least as long as the rows.
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
    Vector c = Vector::Zero(rows);
    prior_->add_extra_variances(others, begin, W, c);
    if (c.isZero(0)) continue;
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
