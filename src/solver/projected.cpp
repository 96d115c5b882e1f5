#include "solver/projected.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/backend.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

// Error of the bound (in nats, relative to b' f) above which means are refined, at the cost of one more pass
// over the rows. A step whose rounding error looks like a decrease of the bound costs more.
constexpr double refine_above = 1e-12, refine_above_relative = 1e-15;

}  // namespace

ProjectedSolver::ProjectedSolver(Context& context, std::shared_ptr<Prior> prior,
                                 std::shared_ptr<const DesignRows> design)
    : Solver(context, std::move(prior), std::move(design)),
      columns_(context, *prior_, *design_),
      latent_(columns_.size()) {
  if (!prior_->finite()) throw std::invalid_argument("a term is not a finite set of columns");
}

void ProjectedSolver::refresh() {
  columns_.refresh();
  prior_mean_ = prior_->mean(*design_);
  prior_variances_.resize(0);
  variances_known_ = false;
}

const Vector& ProjectedSolver::prior_variances() const {
  if (prior_variances_.size() < rows_) {
    prior_variances_ = Vector::Zero(rows_);
    columns_.add_prior_variances(prior_variances_, extra_variances_);
  }
  return prior_variances_;
}

const Vector& ProjectedSolver::extra_variances() const {
  if (prior_->has_extra_variances()) prior_variances();
  return extra_variances_;
}

ProjectedSolver::SiteSums ProjectedSolver::sums(const Vector& d, const Vector& x, bool fixed) const {
  if (d.size() == 0 && x.size() == 0) return {};
  const Index width = d.size() > 0 ? latent_ : 0;
  std::vector<Matrix> cross(columns_.groups(), Matrix::Zero(width, width));
  Matrix projected = Matrix::Zero(latent_, columns_.groups());
  const double flops = static_cast<double>(rows_) * latent_ * (d.size() > 0 ? latent_ : 2);
  const auto add = [&](Index group, Index begin, const ConstMatrixRef& chunk) {
    const Index n = chunk.rows();
    if (x.size() > 0) projected.col(group).noalias() += chunk.transpose() * x.segment(begin, n);
    if (d.size() == 0) return;
    add_weighted_crossproduct(context_.backend, chunk, d.segment(begin, n), cross[group]);
  };
  if (fixed)
    columns_.for_fixed_chunks(flops, add);
  else
    columns_.for_chunks(flops, add);
  SiteSums out{std::move(cross[0]), projected.rowwise().sum()};
  for (std::size_t group = 1; group < cross.size(); ++group) out.cross += cross[group];
  fill_upper(out.cross);
  return out;
}

Vector ProjectedSolver::project_sites(const Vector& b) const {
  return b_.size() > 0 && b == b_ ? projected_ : columns_.project(b);
}

Vector ProjectedSolver::quadratic_forms(const Matrix& M) const {
  Vector out(rows_);
  columns_.for_chunks(2.0 * rows_ * latent_ * latent_, [&](Index, Index begin, const ConstMatrixRef& chunk) {
    Matrix product(chunk.rows(), latent_);
    context_.backend.multiply(false, false, 1.0, chunk, M, 0.0, product);
    out.segment(begin, chunk.rows()) = product.cwiseProduct(chunk).rowwise().sum();
  });
  return out;
}

bool ProjectedSolver::factorise_for(const Vector& lambda, const Vector& b) {
  lambda_ = lambda;
  b_ = b;
  adopted_.resize(0);
  variances_known_ = false;
  // A = P + W~' Lambda W~
  const double factor = observed_factor(lambda);
  SiteSums both = sums(factor > 0 ? Vector() : lambda, b);
  inverse_ = factor > 0 ? observed_crossproduct(factor) : std::move(both.cross);
  projected_ = std::move(both.projected);
  inverse_.diagonal() += prior_->precision();
  A_ = inverse_;
  if (!cholesky(context_, inverse_)) {
    if (null_dimension() > 0 && lambda.minCoeff() >= 0) Prior::throw_collinear();
    return false;
  }
  log_det_ = 2 * inverse_.diagonal().array().log().sum();
  inverse_.triangularView<Eigen::StrictlyUpper>().setZero();
  inverse_chol_ = inverse_;
  invert_lower(context_, inverse_chol_);
  invert_from_cholesky(context_, inverse_, latent_);
  fill_upper(inverse_);
  prior_->check_collinear(A_.diagonal(), inverse_.diagonal());
  return true;
}

void ProjectedSolver::prepare_variances() const {
  extra_variances();
  variances_.resize(rows_);
}

void ProjectedSolver::set_variances(Index begin, const ConstMatrixRef& chunk) const {
  auto variances = variances_.segment(begin, chunk.rows());
  if (inverse_chol_.size() > 0) {
    // w' A^-1 w = |L^-1 w|^2
    Matrix whitened = chunk;
    context_.backend.triangular_multiply(false, true, 1.0, inverse_chol_, whitened);
    variances = whitened.rowwise().squaredNorm();
  } else {
    Matrix product(chunk.rows(), latent_);
    context_.backend.multiply(false, false, 1.0, chunk, inverse_, 0.0, product);
    variances = product.cwiseProduct(chunk).rowwise().sum();
  }
  if (extra_variances_.size() > 0) variances += extra_variances_.segment(begin, chunk.rows());
}

const Vector& ProjectedSolver::marginal_variances() const {
  if (variances_known_) return variances_;
  prepare_variances();
  columns_.for_chunks(static_cast<double>(rows_) * latent_ * latent_,
             [&](Index, Index begin, const ConstMatrixRef& chunk) { set_variances(begin, chunk); });
  variances_known_ = true;
  return variances_;
}

// The explicit inverse loses digits; one step of iterative refinement restores them.
Vector ProjectedSolver::solve(const Vector& h) const {
  const Vector u = inverse_ * h;
  if (A_.size() == 0) return u;
  return u + inverse_ * (h - A_ * u);
}

SiteMean ProjectedSolver::posterior_mean(const Vector& b) {
  SiteMean out{Vector(rows_), Vector(rows_), 0};
  const Vector u = solve(project_sites(b));
  const bool variances = b_.size() > 0 && !variances_known_;  // the pass computes both
  if (variances) prepare_variances();
  Matrix sums = Matrix::Zero(latent_, columns_.groups());
  const double flops = static_cast<double>(rows_) * latent_ * (variances ? latent_ : 4);
  columns_.for_chunks(flops, [&](Index group, Index begin, const ConstMatrixRef& chunk) {
    const Index n = chunk.rows();
    auto mean = out.mean.segment(begin, n), alpha = out.alpha.segment(begin, n);
    mean.noalias() = chunk * u;  // W~ A^-1 W~' b
    alpha = b.segment(begin, n) - lambda_.segment(begin, n).cwiseProduct(mean);
    sums.col(group).noalias() += chunk.transpose() * alpha;
    if (variances) set_variances(begin, chunk);
  });
  variances_known_ = variances_known_ || variances;
  // At the solution W~' alpha = P u. The residual makes alpha' mean, half of which is in the bound, wrong by
  // rest' u.
  const Vector rest = sums.rowwise().sum() - prior_->precision().cwiseProduct(u);
  Vector correction = Vector::Zero(latent_);
  const double size = b.cwiseAbs().dot(out.mean.cwiseAbs());
  if (std::abs(rest.dot(u)) > refine_above + refine_above_relative * size) {
    correction = inverse_ * rest;
    out.mean += columns_.expand(correction);
    out.alpha = b - lambda_.cwiseProduct(out.mean);
  }
  const Vector corrected = u + correction;
  out.squared_norm = corrected.dot(prior_->precision().cwiseProduct(corrected));
  out.rounding = std::numeric_limits<double>::epsilon() * out.squared_norm;
  return out;
}

double ProjectedSolver::observed_factor(const Vector& lambda) const {
  const Vector& known = observed_.lambda;
  if (known.size() == 0) return 0;
  constexpr double same = 1e-14;  // relative
  Index largest;
  known.maxCoeff(&largest);
  const double factor = lambda[largest] / known[largest];
  for (Index n = 0; n < rows_; ++n)
    if (!(std::abs(lambda[n] - factor * known[n]) <= same * lambda[n])) return 0;
  return factor;
}

// T' (X' Lambda X) T
Matrix ProjectedSolver::observed_crossproduct(double factor) const {
  Matrix cross = factor * observed_.cross;
  prior_->whiten(cross);
  cross.transposeInPlace();
  prior_->whiten(cross);
  return cross;
}

SiteMean ProjectedSolver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  if (prior_->fixed_columns() && lambda.allFinite() && !(observed_factor(lambda) > 0)) {
    observed_ = {lambda, sums(lambda, Vector(), true).cross};
  }
  factorise_observations(lambda);
  SiteMean out;
  const Vector u = solve(columns_.project(lambda.cwiseProduct(r)));
  out.mean = columns_.expand(u);
  out.alpha = lambda.cwiseProduct(r - out.mean);
  out.squared_norm = u.dot(prior_->precision().cwiseProduct(u));
  out.rounding = std::numeric_limits<double>::epsilon() * out.squared_norm;
  log_evidence = gaussian_log_evidence(r, out);
  return out;
}

// As for any factorisation, rounding changes A by the last digits of A_ii A_jj, and the log determinant and
// tr(A A^-1) by that times A^-1. A itself is a sum over rows, with rounding errors of its own.
double ProjectedSolver::rounding() const {
  if (A_.size() == 0) return 0;
  return 16 * std::numeric_limits<double>::epsilon() *
         A_.diagonal().cwiseAbs().dot(inverse_.diagonal().cwiseAbs());
}

Vector ProjectedSolver::apply_prior(const Vector& x) const { return columns_.expand(columns_.project(x)); }

Vector ProjectedSolver::apply_covariance(const Vector& x) const {
  return columns_.expand(inverse_ * columns_.project(x));
}

Vector ProjectedSolver::apply_squared_covariance(const Vector& x) const {
  return quadratic_forms(inverse_ * weighted_crossproduct(x) * inverse_);
}

Distance ProjectedSolver::distance(const Vector& r, const Vector& d) const {
  const SiteSums both = sums(d, r);
  const Matrix& H = both.cross;
  const Vector& u = both.projected;
  const Matrix AH = inverse_ * H;
  // C o V = (W~ W~') o (W~ A^-1 W~'), so that d' (C o V) d = tr(H A^-1 H)
  const double bound = null_dimension() > 0 ? std::numeric_limits<double>::infinity()
                                           : 0.5 * (u.squaredNorm() + AH.cwiseProduct(H).sum());
  return {bound, u.dot(inverse_ * u) + 0.5 * AH.cwiseProduct(AH.transpose()).sum()};
}

Matrix ProjectedSolver::covariance(const std::vector<Index>& rows) const {
  Matrix columns(latent_, static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) columns.col(k) = inverse_ * columns_.row(rows[k]);
  Matrix out(rows_, columns.cols());
  columns_.for_chunks(2.0 * rows_ * latent_ * columns.cols(), [&](Index, Index begin, const ConstMatrixRef& chunk) {
    out.middleRows(begin, chunk.rows()).noalias() = chunk * columns;
  });
  return out;
}

// A^-1 <- A^-1 - delta / (1 + delta v) (A^-1 w)(A^-1 w)' for one site after the other
void ProjectedSolver::sweep(const SiteChange& change) {
  for (Index n = 0; n < rows_; ++n) {
    if (n % 1024 == 0) context_.monitor.poll();
    const Vector w = columns_.row(n);
    const Vector Aw = inverse_ * w;
    const double v = w.dot(Aw), delta = change(n, v);
    if (delta == 0) continue;
    inverse_ -= (delta / (1 + delta * v)) * Aw * Aw.transpose();
    log_det_ += std::log1p(delta * v);
    lambda_[n] += delta;
  }
  inverse_chol_.resize(0, 0);
  A_.resize(0, 0);
  adopted_.resize(0);
  variances_known_ = false;
}

Matrix ProjectedSolver::whitened_design() const {
  Matrix W(rows_, latent_);
  columns_.fill(0, W);
  return W;
}

// With q fixed in whitened coordinates u ~ N(u, S), S = A^-1, the columns change only the marginals: d bound
// / dW = d_mean u' + 2 diag(d_variance) W S. Where q is not the optimum but follows the columns through its
// sites, u = S W' b and A = P + W' Lambda W contribute changes of their own, through p = S d bound / du and T
// = S (d bound / dS) S.
void ProjectedSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  const Vector u = solve(project_sites(site.b));
  if (site.optimal && prior_->fixed_columns()) {
    // From W~' alpha = P u and W~' Lambda W~ = A - P:   W~'G = P (u u' + S) - I, without the rows
    Matrix products = prior_->precision().asDiagonal() * (u * u.transpose() + inverse_);
    products.diagonal().array() -= 1;
    const Matrix identity = Matrix::Identity(latent_, latent_);
    Vector sums = Vector::Zero(prior_->gradient_size());
    prior_->add_gradient(*design_, 0, identity, products, Vector::Zero(latent_), sums);
    prior_->finish_gradient(sums, hyper);
    return;
  }
  const Vector& d_extra = site.d_extra ? *site.d_extra : site.d_variance;
  Vector p;
  Matrix T;
  if (!site.optimal) {
    p = inverse_ * (columns_.project(site.d_mean) - prior_->precision().cwiseProduct(u));
    T = inverse_ * weighted_crossproduct(site.d_variance + 0.5 * lambda_) * inverse_;
  }
  const double flops = (site.optimal ? 2.0 : 4.0) * rows_ * latent_ * latent_;
  for_column_gradients(flops, d_extra, hyper, [&](Index, Index begin, const ConstMatrixRef& chunk, MatrixRef G) {
    const auto part = [&](const Vector& x) { return x.segment(begin, chunk.rows()); };
    context_.backend.multiply(false, false, 1.0, chunk, inverse_, 0.0, G);
    G = (2 * part(site.d_variance)).asDiagonal() * G;
    G.noalias() += part(site.d_mean) * u.transpose();
    if (site.optimal) return;
    Matrix follow(chunk.rows(), latent_);
    context_.backend.multiply(false, false, -2.0, chunk, T, 0.0, follow);
    follow.noalias() -= (chunk * p) * u.transpose();
    G += part(lambda_).asDiagonal() * follow;
    G.noalias() += part(site.alpha) * p.transpose();
  });
}

void ProjectedSolver::for_column_gradients(double flops, const Vector& d_extra, VectorRef hyper,
                                           const GradientBody& body) const {
  ColumnGradients sums(*prior_, *design_, columns_.groups());
  columns_.for_chunks(flops, [&](Index group, Index begin, const ConstMatrixRef& chunk) {
    Matrix G(chunk.rows(), latent_);
    body(group, begin, chunk, G);
    sums.add(group, begin, chunk, G, d_extra.segment(begin, chunk.rows()));
  });
  sums.finish(hyper);
}

void ProjectedSolver::adopt(const LatentPosterior& q) {
  adopted_ = q.mean;
  A_ = q.precision;
  inverse_chol_ = q.root;
  inverse_ = q.root.transpose().triangularView<Eigen::Upper>() * q.root;
  log_det_ = q.log_det;
  lambda_.resize(0);
  b_.resize(0);
  variances_known_ = false;
}

SolverState ProjectedSolver::state(const SiteMean& site_mean, bool) {
  SolverState out;
  out.alpha = site_mean.alpha;
  out.lambda = lambda_;
  // of sites: u = A^-1 W~' b with b = alpha + lambda mean
  Vector u = adopted_;
  if (u.size() == 0) u = solve(project_sites(site_mean.alpha + lambda_.cwiseProduct(site_mean.mean)));
  out.latent_mean = prior_->coefficient_mean() + prior_->scale().cwiseProduct(u);
  out.latent_chol = inverse_;
  cholesky_with_jitter(context_, out.latent_chol);
  out.latent_chol.triangularView<Eigen::StrictlyUpper>().setZero();
  out.latent_chol = (prior_->scale().asDiagonal() * out.latent_chol).eval();
  return out;
}

std::vector<Coefficients> ProjectedSolver::coefficients(const SolverState& state) {
  std::vector<Coefficients> out;
  Index at = 0;
  for (const auto& term : *prior_) {
    const Index q = term->columns();
    const auto rows = state.latent_chol.middleRows(at, q);
    out.push_back({term->label(), state.latent_mean.segment(at, q), rows * rows.transpose()});
    at += q;
  }
  return out;
}

// They are zero where the prior variance is (an intercept that thresholds replace).
ProjectedSolver::WhitenedState ProjectedSolver::whitened(const SolverState& state) const {
  if (state.latent_mean.size() != latent_ || state.latent_chol.rows() != latent_)
    throw std::invalid_argument("the posterior is not one of this model: it has no latent vector of its columns");
  const Vector whitening = (prior_->scale().array() > 0).select(prior_->scale().cwiseInverse(), 0.0);
  return {whitening.cwiseProduct(state.latent_mean - prior_->coefficient_mean()),
          whitening.asDiagonal() * state.latent_chol};
}

Matrix ProjectedSolver::draw(const SolverState& state, const DesignRows& others, Index count) {
  const WhitenedState own = whitened(state);
  Matrix u = own.mean.replicate(1, count);
  multiply(context_, false, false, 1.0, own.chol, white_noise(context_, latent_, count), 1.0, u);
  return expand_draws(others, u);
}

Conditional ProjectedSolver::conditional(const SolverState& state, const DesignRows& others,
                                         const ConditionalRequest& request) {
  const Prior& prior = *prior_;
  const Index T = prior.size(), b = others.size();
  Conditional out;
  out.mean = Vector::Zero(b);
  Matrix W(b, latent_);
  Vector extra = Vector::Zero(b);
  if (request.terms) {
    out.term_mean.resize(b, T);
    out.term_variance.resize(b, T);
  }
  const WhitenedState known = whitened(state);
  const Vector& u = known.mean;
  const Matrix& chol = known.chol;
  Index at = 0;
  for (Index t = 0; t < T; ++t) {
    const Index q = prior[t].columns();
    auto Wt = W.middleCols(at, q);
    prior[t].fill(others[t], 0, Wt);
    Vector own = Vector::Zero(b), mean = Vector::Zero(b);
    prior[t].add_extra_variances(others[t], 0, Wt, own);
    prior[t].add_prior_mean(others[t], 0, mean);
    mean += Wt * u.segment(at, q);
    out.mean += mean;
    extra += own;
    if (request.terms) {
      out.term_mean.col(t) = mean;
      out.term_variance.col(t) = (Wt * chol.middleRows(at, q)).rowwise().squaredNorm() + own;
    }
    at += q;
  }
  const Matrix X = W * chol;
  out.variance = X.rowwise().squaredNorm() + extra;
  if (request.covariance) {
    out.covariance = X * X.transpose();
    out.covariance.diagonal() += extra;
  }
  return out;
}

}  // namespace galvi
