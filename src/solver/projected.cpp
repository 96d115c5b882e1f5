#include "solver/projected.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/backend.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

// Sums are taken within this many groups of chunks and then in the order of the groups, whatever the threads.
constexpr Index max_groups = 8;

// Error of the bound, in nats, from which on means are refined, which costs two more passes over the rows.
constexpr double refine_above = 1e-9;

Index chunk_rows(const Context& context, Index latent) {
  if (context.chunk_rows > 0) return context.chunk_rows;
  return std::clamp<Index>(65536 / std::max<Index>(latent, 1), 64, 4096);
}

}  // namespace

ProjectedSolver::ProjectedSolver(Context& context, Terms terms, Index rows)
    : context_(context), terms_(std::move(terms)), rows_(rows) {
  for (const auto& term : terms_) {
    if (term->columns() == 0)
      throw std::invalid_argument("term " + term->label() + " is not a finite set of columns");
    latent_ += term->columns();
  }
}

void ProjectedSolver::update(const ConstVectorRef& hyper) {
  scale_.resize(latent_);
  precision_.resize(latent_);
  latent_prior_mean_.resize(latent_);
  Index at = 0;
  for (auto& term : terms_) {
    term->update(hyper);
    latent_prior_mean_.segment(at, term->columns()) = term->coefficient_mean();
    scale_.segment(at, term->columns()) = term->coefficient_variance().cwiseSqrt();
    at += term->columns();
  }
  null_dimension_ = 0;
  for (Index j = 0; j < latent_; ++j) {
    const bool flat = std::isinf(scale_[j]);
    precision_[j] = flat ? 0 : 1;
    if (flat) scale_[j] = 1;
    null_dimension_ += flat;
  }
  prior_mean_ = galvi::prior_mean(terms_, rows_);
  prior_variances_.resize(rows_);
  for_chunks([&](Index, Index begin, MatrixRef chunk) {
    for (Index i = 0; i < chunk.rows(); ++i) {
      double flat = 0, proper = 0;
      for (Index j = 0; j < latent_; ++j) (precision_[j] == 0 ? flat : proper) += chunk(i, j) * chunk(i, j);
      prior_variances_[begin + i] = flat > 0 ? std::numeric_limits<double>::infinity() : proper;
    }
  });
  variances_known_ = false;
}

Index ProjectedSolver::groups() const {
  const Index chunks = (rows_ + chunk_rows(context_, latent_) - 1) / chunk_rows(context_, latent_);
  return std::min(max_groups, chunks);
}

// Rows begin .. of W~.
void ProjectedSolver::fill(Index begin, MatrixRef chunk) const {
  Index at = 0;
  for (const auto& term : terms_) {
    const Index q = term->columns();
    for (Index j = 0; j < q; ++j)
      chunk.col(at + j) = scale_[at + j] * term->design().col(j).segment(begin, chunk.rows());
    at += q;
  }
}

void ProjectedSolver::for_chunks(const ChunkBody& body) const {
  const Index size = chunk_rows(context_, latent_), number = groups();
  const Index chunks = (rows_ + size - 1) / size;
  parallel_for(context_, number, 4.0 * static_cast<double>(rows_ * latent_), [&](Index group) {
    Matrix buffer(std::min(size, rows_), latent_);
    for (Index c = group * chunks / number; c < (group + 1) * chunks / number; ++c) {
      const Index begin = c * size, count = std::min(size, rows_ - begin);
      auto chunk = buffer.topRows(count);
      fill(begin, chunk);
      body(group, begin, chunk);
    }
  });
}

Vector ProjectedSolver::project(const Vector& x) const {
  Matrix sums = Matrix::Zero(latent_, groups());
  for_chunks([&](Index group, Index begin, MatrixRef chunk) {
    sums.col(group).noalias() += chunk.transpose() * x.segment(begin, chunk.rows());
  });
  return sums.rowwise().sum();
}

Vector ProjectedSolver::expand(const Vector& u) const {
  Vector out(rows_);
  for_chunks(
      [&](Index, Index begin, MatrixRef chunk) { out.segment(begin, chunk.rows()).noalias() = chunk * u; });
  return out;
}

Matrix ProjectedSolver::weighted_crossproduct(const Vector& d) const {
  std::vector<Matrix> sums(groups(), Matrix::Zero(latent_, latent_));
  const bool positive = d.size() == 0 || d.minCoeff() >= 0;
  for_chunks([&](Index group, Index begin, MatrixRef chunk) {
    const auto weights = d.segment(begin, chunk.rows());
    if (positive) {
      chunk = weights.cwiseSqrt().asDiagonal() * chunk;
      context_.backend.rank_k(true, 1.0, chunk, 1.0, sums[group]);
    } else {
      const Matrix weighted = weights.asDiagonal() * chunk;
      context_.backend.multiply(true, false, 1.0, chunk, weighted, 1.0, sums[group]);
    }
  });
  context_.cost.flops += static_cast<double>(rows_) * latent_ * latent_;
  Matrix out = Matrix::Zero(latent_, latent_);
  for (const Matrix& sum : sums) out += sum;
  fill_upper(out);
  return out;
}

Vector ProjectedSolver::quadratic_forms(const Matrix& M) const {
  Vector out(rows_);
  for_chunks([&](Index, Index begin, MatrixRef chunk) {
    Matrix product(chunk.rows(), latent_);
    context_.backend.multiply(false, false, 1.0, chunk, M, 0.0, product);
    out.segment(begin, chunk.rows()) = product.cwiseProduct(chunk).rowwise().sum();
  });
  context_.cost.flops += 2.0 * rows_ * latent_ * latent_;
  return out;
}

void ProjectedSolver::throw_collinear() {
  throw std::domain_error(
      "columns with a flat prior, normal(0, Inf), are collinear or more than the rows: give them a finite sd "
      "in "
      "`prior`");
}

bool ProjectedSolver::factorise(const Vector& lambda) {
  lambda_ = lambda;
  variances_known_ = false;
  // A = P + W~' Lambda W~
  inverse_ = weighted_crossproduct(lambda);
  inverse_.diagonal() += precision_;
  const Vector diagonal = inverse_.diagonal();
  if (!cholesky(context_, inverse_)) {
    if (null_dimension_ > 0 && lambda.minCoeff() >= 0) throw_collinear();
    return false;
  }
  log_det_ = 2 * inverse_.diagonal().array().log().sum();
  inverse_.triangularView<Eigen::StrictlyUpper>().setZero();
  inverse_chol_ = inverse_;
  invert_lower(context_, inverse_chol_);
  invert_from_cholesky(context_, inverse_, latent_);
  fill_upper(inverse_);
  condition_ = diagonal.maxCoeff() * inverse_.diagonal().maxCoeff();
  // 1 / (1 - R^2) of a column regressed on the others, by which its flat prior has no say
  if (((1 - precision_.array()) * diagonal.array() * inverse_.diagonal().array()).maxCoeff() > 1e13)
    throw_collinear();
  return true;
}

const Vector& ProjectedSolver::marginal_variances() const {
  if (variances_known_) return variances_;
  variances_.resize(rows_);
  if (inverse_chol_.size() == 0) {
    variances_ = quadratic_forms(inverse_);
  } else {
    // w' A^-1 w = |L^-1 w|^2
    for_chunks([&](Index, Index begin, MatrixRef chunk) {
      context_.backend.triangular_multiply(false, true, 1.0, inverse_chol_, chunk);
      variances_.segment(begin, chunk.rows()) = chunk.rowwise().squaredNorm();
    });
    context_.cost.flops += static_cast<double>(rows_) * latent_ * latent_;
  }
  variances_known_ = true;
  return variances_;
}

SiteMean ProjectedSolver::posterior_mean(const Vector& b) {
  SiteMean out;
  const Vector u = inverse_ * project(b);
  out.mean = expand(u);  // W~ A^-1 W~' b
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  // The explicit inverse loses digits of the mean, which alpha = b - lambda mean turns into an error of the
  // bound of lambda |mean| d mean. One step of refinement brings them back: at the solution W~' alpha = P u.
  const double error = std::numeric_limits<double>::epsilon() * condition_ * b.norm() * out.mean.norm();
  if (error < refine_above) return out;
  const Vector rest = project(out.alpha) - precision_.cwiseProduct(u);
  out.mean += expand(inverse_ * rest);
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  return out;
}

SiteMean ProjectedSolver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  if (!lambda.allFinite())
    throw std::domain_error("noise-free observations need a full gp(): the columns cannot interpolate them");
  factorise(lambda);
  SiteMean out;
  const Vector u = inverse_ * project(lambda.cwiseProduct(r));
  out.mean = expand(u);
  out.alpha = lambda.cwiseProduct(r - out.mean);
  log_evidence = -0.5 * (log_det_ + u.dot(precision_.cwiseProduct(u)) + (r - out.mean).dot(out.alpha));
  for (Index n = 0; n < rows_; ++n)
    if (lambda[n] > 0) log_evidence += 0.5 * std::log(lambda[n] / (2 * M_PI));
  log_evidence += 0.5 * null_dimension_ * std::log(2 * M_PI);
  return out;
}

Vector ProjectedSolver::apply_prior(const Vector& x) const { return expand(project(x)); }

Vector ProjectedSolver::apply_covariance(const Vector& x) const { return expand(inverse_ * project(x)); }

Vector ProjectedSolver::apply_squared_covariance(const Vector& x) const {
  return quadratic_forms(inverse_ * weighted_crossproduct(x) * inverse_);
}

Distance ProjectedSolver::distance(const Vector& r, const Vector& d) const {
  const Vector u = project(r);
  const Matrix H = weighted_crossproduct(d), AH = inverse_ * H;
  // C o V = (W~ W~') o (W~ A^-1 W~'), so that d' (C o V) d = tr(H A^-1 H)
  const double bound = null_dimension_ > 0 ? std::numeric_limits<double>::infinity()
                                           : 0.5 * (u.squaredNorm() + AH.cwiseProduct(H).sum());
  return {bound, u.dot(inverse_ * u) + 0.5 * AH.cwiseProduct(AH.transpose()).sum()};
}

Vector ProjectedSolver::whitened_row(Index n) const {
  Matrix row(1, latent_);
  fill(n, row);
  return row.transpose();
}

Matrix ProjectedSolver::covariance(const std::vector<Index>& rows) const {
  Matrix columns(latent_, static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) columns.col(k) = inverse_ * whitened_row(rows[k]);
  Matrix out(rows_, columns.cols());
  for_chunks(
      [&](Index, Index begin, MatrixRef chunk) { out.middleRows(begin, chunk.rows()) = chunk * columns; });
  return out;
}

// A^-1 <- A^-1 - delta / (1 + delta v) (A^-1 w)(A^-1 w)' for one site after the other
void ProjectedSolver::sweep(const SiteChange& change) {
  for (Index n = 0; n < rows_; ++n) {
    if (n % 1024 == 0) context_.monitor.poll();
    const Vector w = whitened_row(n);
    const Vector Aw = inverse_ * w;
    const double v = w.dot(Aw), delta = change(n, v);
    if (delta == 0) continue;
    inverse_ -= (delta / (1 + delta * v)) * Aw * Aw.transpose();
    log_det_ += std::log1p(delta * v);
    lambda_[n] += delta;
  }
  inverse_chol_.resize(0, 0);
  variances_known_ = false;
}

Matrix ProjectedSolver::whitened_design() const {
  Matrix W(rows_, latent_);
  fill(0, W);
  return W;
}

// With G = d bound / dC as in DenseKernelSolver::gradient, d bound / d variance_j = w_j' G w_j. In whitened
// coordinates (I - V Lambda) W~ = W~ A^-1 P and W~' (Lambda - Lambda V Lambda) W~ = P - P A^-1 P.
void ProjectedSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  const Vector projected = project(site.alpha);
  Vector diagonal = projected.cwiseAbs2();
  if (!site.optimal) {
    const Vector w = site.d_mean - 0.5 * (site.alpha - lambda_.cwiseProduct(site.mean));
    const Vector u = w - lambda_.cwiseProduct(apply_covariance(w));
    const Matrix H = weighted_crossproduct(site.d_variance + 0.5 * lambda_);
    diagonal =
        2 * project(u).cwiseProduct(projected) + 2 * (inverse_ * H).cwiseProduct(inverse_).rowwise().sum();
  }
  diagonal -= Vector::Ones(latent_) - inverse_.diagonal();
  const Vector d_variance = 0.5 * diagonal.cwiseQuotient(scale_.cwiseAbs2()).cwiseProduct(precision_);
  Index at = 0;
  for (const auto& term : terms_) {
    term->add_variance_gradient(d_variance.segment(at, term->columns()), hyper);
    at += term->columns();
  }
}

SolverState ProjectedSolver::state(const SiteMean& site_mean, bool) {
  SolverState out;
  out.alpha = site_mean.alpha;
  out.lambda = lambda_;
  // u = A^-1 W~' b with b = alpha + lambda mean
  const Vector b = site_mean.alpha + lambda_.cwiseProduct(site_mean.mean);
  out.latent_mean = latent_prior_mean_ + scale_.cwiseProduct(inverse_ * project(b));
  out.latent_chol = inverse_;
  cholesky_with_jitter(context_, out.latent_chol);
  out.latent_chol.triangularView<Eigen::StrictlyUpper>().setZero();
  out.latent_chol = (scale_.asDiagonal() * out.latent_chol).eval();
  return out;
}

std::vector<Coefficients> ProjectedSolver::coefficients(const SolverState& state) {
  std::vector<Coefficients> out;
  Index at = 0;
  for (const auto& term : terms_) {
    const Index q = term->columns();
    const auto rows = state.latent_chol.middleRows(at, q);
    out.push_back({term->label(), state.latent_mean.segment(at, q), rows * rows.transpose()});
    at += q;
  }
  return out;
}

Conditional ProjectedSolver::conditional(const SolverState& state, const std::vector<TermRows>& others,
                                         const ConditionalRequest& request) {
  const Index T = static_cast<Index>(terms_.size());
  const Index b = others.empty() ? 0 : others[0].W.rows();
  Conditional out;
  Matrix W(b, state.latent_mean.size());
  if (request.terms) {
    out.term_mean.resize(b, T);
    out.term_variance.resize(b, T);
  }
  Index at = 0;
  for (Index t = 0; t < T; ++t) {
    const Matrix& Wt = others[t].W;
    const Index q = Wt.cols();
    W.middleCols(at, q) = Wt;
    if (request.terms) {
      out.term_mean.col(t) = Wt * state.latent_mean.segment(at, q);
      out.term_variance.col(t) = (Wt * state.latent_chol.middleRows(at, q)).rowwise().squaredNorm();
    }
    at += q;
  }
  out.mean = W * state.latent_mean;
  const Matrix X = W * state.latent_chol;
  out.variance = X.rowwise().squaredNorm();
  if (request.covariance) out.covariance = X * X.transpose();
  return out;
}

}  // namespace galvi
