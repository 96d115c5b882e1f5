#include "solver/sparse.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

namespace {

// 1.2e9 -> 1.2 billion
std::string in_billions(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", x < 1e10 ? 1 : 0, x / 1e9);
  return std::string(text) + " billion";
}

}  // namespace

SparseSolver::SparseSolver(Context& context, std::shared_ptr<Prior> prior,
                           std::shared_ptr<const DesignRows> design, FactorSize most)
    : Solver(context, std::move(prior), std::move(design)),
      most_(most),
      fields_(*prior_, *design_),
      columns_(context, *prior_, *design_),
      symbolic_(fields_.pattern()) {
  for (const auto& term : *prior_)
    if (!term->field() && term->columns() == 0)
      throw std::invalid_argument("term " + term->label() +
                                  " is neither a field nor a finite set of columns");
  if (const FactorSize size = symbolic_.size(); too_large(size))
    throw std::length_error("the sparse factor of " + std::to_string(fields_.size()) + " nodes would have " +
                            in_billions(size.entries) + " numbers and take " + in_billions(size.work) +
                            " multiplications at every step: give gp() fewer `neighbours`, or nodes at fewer places as "
                            "in gp(x, y, inducing = 5000, neighbours = 10), or fewer `inducing` points in space and "
                            "time, or other fields fewer nodes");
}

void SparseSolver::refresh() {
  fields_.refresh();
  columns_.refresh();
  prior_mean_ = prior_->mean(*design_);
  prior_variances_ = Vector::Zero(rows_);
  with_fields_ = false;
  columns_.add_prior_variances(prior_variances_, extra_variances_);
  factor_.reset();
  prior_covariance_.resize(0, 0);
}

// Those of a field may take a factorisation, and predictions do without.
const Vector& SparseSolver::prior_variances() const {
  if (!with_fields_) prior_variances_ += fields_.row_variances(context_);
  with_fields_ = true;
  return prior_variances_;
}

BorderedFactor SparseSolver::factor_at(const Vector& lambda) const {
  return {context_, fields_, columns_, symbolic_, lambda};
}

bool SparseSolver::factorise(const Vector& lambda) {
  lambda_ = lambda;
  variances_.resize(0);
  covariance_.resize(0, 0);
  kept_mean_.reset();
  factor_.emplace(factor_at(lambda));
  return factor_->ok();
}

void SparseSolver::use(const Vector& lambda) {
  const bool at_hand = factor_ && factor_->ok() && lambda_ == lambda;
  if (!at_hand && !factorise(lambda)) throw_singular();
}

// The border's; rows off the pattern are taken together.
double SparseSolver::row_work() const {
  const double border = static_cast<double>(columns_.size() + 2 * fields_.constraint_count());
  return 2 * border * border;
}

double SparseSolver::log_det() const { return factor_->log_det() - fields_.log_det(context_); }

// A change dA of A changes log|A| by tr(A^-1 dA), and rounding changes a diagonal by its last digit. A long
// rw2 has entries that cancel to a millionth of their size. The variances of a wide border and of the nodes
// have opposite signs; rows see only their small sum.
double SparseSolver::rounding() const {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const Vector& inverse = factor_->selected_inverse(context_);
  const SparseMatrix& pattern = fields_.pattern();
  double sum = 0;
  for (Index j = 0; j < fields_.size(); ++j)
    sum += factor_->diagonal()[j] *
           (inverse[pattern.outerIndexPtr()[j]] + std::abs(factor_->border_covariance(j, j)));
  return epsilon * sum;
}

SparseSolver::Latent SparseSolver::project(const ConstMatrixRef& X) const {
  Latent out{fields_.rows().transpose() * X, Matrix(columns_.size(), X.cols())};
  for (Index k = 0; k < X.cols(); ++k) out.beta.col(k) = columns_.project(X.col(k));
  return out;
}

Matrix SparseSolver::expand(const Latent& u) const {
  Matrix out = fields_.rows() * u.z;
  for (Index k = 0; k < out.cols(); ++k) columns_.add_expanded(u.beta.col(k), out.col(k));
  return out;
}

SparseSolver::Latent SparseSolver::solve(Latent u) const {
  factor_->solve(context_, u.z, u.beta);
  return u;
}

Vector SparseSolver::variances(const BorderedFactor& factor) const {
  Vector out = fields_.quadratic_forms(context_, factor.selected_inverse(context_));
  columns_.for_chunks(factor.row_flops() * rows_, [&](Index, Index begin, const ConstMatrixRef& chunk) {
    Vector border;
    factor.cross_covariance(context_.backend, fields_.rows(), begin, chunk, &border);
    out.segment(begin, chunk.rows()) += border;
  });
  return out;
}

const Vector& SparseSolver::marginal_variances() const {
  if (variances_.size() == 0) {
    variances_ = variances(*factor_);
    if (extra_variances_.size() > 0) variances_ += extra_variances_;
  }
  return variances_;
}

// At the solution W' alpha = Sigma^-1 u up to the constraints' multipliers. The residual is corrected until
// only rounding is left.
const SparseSolver::Latent& SparseSolver::latent_mean(const Vector& b, Vector* of_rows) const {
  if (!of_rows && kept_mean_ && kept_mean_->b == b) return kept_mean_->mean;
  constexpr int most_refinements = 3;
  const double enough = 4 * std::numeric_limits<double>::epsilon();
  Latent u = solve(project(b));
  Vector mean = expand(u);
  for (int step = 0; step < most_refinements; ++step) {
    Latent rest = project(b - lambda_.cwiseProduct(mean));
    rest.z -= fields_.precision_times(u.z);
    rest.beta -= prior_->precision().cwiseProduct(u.beta.col(0));
    rest = solve(std::move(rest));
    const Vector change = expand(rest);
    u.z += rest.z;
    u.beta += rest.beta;
    mean += change;
    if (!(change.lpNorm<Eigen::Infinity>() > enough * mean.lpNorm<Eigen::Infinity>())) break;
  }
  if (of_rows) *of_rows = std::move(mean);
  return kept_mean_.emplace(KeptMean{b, std::move(u)}).mean;
}

SiteMean SparseSolver::posterior_mean(const Vector& b) {
  SiteMean out;
  const Latent& u = latent_mean(b, &out.mean);
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  const double of_columns = u.beta.col(0).cwiseAbs2().dot(prior_->precision());
  out.squared_norm = u.z.col(0).dot(fields_.precision_times(u.z)) + of_columns;
  out.rounding = std::numeric_limits<double>::epsilon() * (fields_.size_of_terms(u.z) + of_columns);
  return out;
}

Matrix SparseSolver::prior_times(const ConstMatrixRef& X) const {
  Latent u = project(X);
  u.z = fields_.covariance_times(context_, u.z);
  return expand(u);
}

Vector SparseSolver::apply_prior(const Vector& x) const { return prior_times(x); }

Vector SparseSolver::apply_covariance(const Vector& x) const { return expand(solve(project(x))); }

Matrix SparseSolver::covariance(const std::vector<Index>& rows) const {
  const Index number = static_cast<Index>(rows.size());
  Latent u{Matrix::Zero(fields_.size(), number), Matrix(columns_.size(), number)};
  for (Index k = 0; k < number; ++k) {
    for (SparseRows::InnerIterator w(fields_.rows(), rows[k]); w; ++w) u.z(w.col(), k) = w.value();
    u.beta.col(k) = columns_.row(rows[k]);
  }
  u = solve(std::move(u));
  Matrix out = fields_.rows() * u.z;
  if (columns_.size() > 0)
    columns_.for_chunks(2.0 * rows_ * u.beta.size(), [&](Index, Index begin, const ConstMatrixRef& chunk) {
      out.middleRows(begin, chunk.rows()).noalias() += chunk * u.beta;
    });
  return out;
}

const Matrix& SparseSolver::dense_covariance() const {
  if (covariance_.size() > 0) return covariance_;
  covariance_.resize(rows_, rows_);
  for (Index begin = 0; begin < rows_; begin += block_columns) {
    context_.monitor.poll();
    std::vector<Index> block(std::min(block_columns, rows_ - begin));
    std::iota(block.begin(), block.end(), begin);
    covariance_.middleCols(begin, static_cast<Index>(block.size())) = covariance(block);
  }
  return covariance_;
}

const Matrix& SparseSolver::dense_prior() const {
  Matrix& C = prior_covariance_;
  if (C.size() > 0) return C;
  C = Matrix::Zero(rows_, rows_);
  prior_->add_covariance(context_, *design_, C);
  fill_upper(C);
  if (extra_variances_.size() > 0) C.diagonal() -= extra_variances_;  // the terms' covariance includes c
  return C;
}

Distance SparseSolver::distance(const Vector& r, const Vector& d) const {
  const bool flat = null_dimension() > 0;
  const double infinity = std::numeric_limits<double>::infinity();
  const double from_mean = r.dot(apply_covariance(r));
  if (rows_ <= most_dense_each_iteration) {
    const double norm = from_mean + 0.5 * d.dot(apply_squared_covariance(d));
    if (flat) return {infinity, norm};
    const double bend = d.dot(hadamard_symmetric_product(context_, dense_prior(), dense_covariance(), d));
    return {0.5 * (r.dot(apply_prior(r)) + bend), norm};
  }
  // For any covariance C, d' (C o V) d <= sum d_n^2 C_nn / lambda_n, as V <= Lambda^-1 where lambda > 0, and
  // by Cauchy <= (sum |d_n| sqrt(C_nn V_nn))^2.
  const auto bound = [&](const Vector& c, const Vector& v) {
    double diagonal = 0, cauchy = 0;
    for (Index n = 0; n < rows_; ++n) {
      if (d[n] == 0) continue;
      diagonal += lambda_[n] > 0 ? d[n] * d[n] * c[n] / lambda_[n] : infinity;
      cauchy += std::abs(d[n]) * std::sqrt(c[n] * v[n]);
    }
    return lambda_.minCoeff() < 0 ? cauchy * cauchy : std::min(diagonal, cauchy * cauchy);
  };
  Vector v = marginal_variances(), c = prior_variances();
  if (extra_variances_.size() > 0) {
    v -= extra_variances_;
    c -= extra_variances_;
  }
  return {flat ? infinity : 0.5 * (r.dot(apply_prior(r)) + bound(c, v)), from_mean + 0.5 * bound(v, v)};
}

// d' (C o V) d = tr(D C D V) = E z' D C D V z for random signs z, and the same with V in place of C. Both sums have
// about as many terms of equal sign as there are rows, so that few z will do. All columns are solved for together: the
// factor is read once.
Distance SparseSolver::estimate_distance(const Vector& r, const Vector& d) const {
  if (!estimates_distance()) return distance(r, d);
  constexpr Index probes = 2;
  std::minstd_rand generator(1);
  Matrix X(rows_, 1 + 2 * probes);  // r, d z for each probe, z for each
  X.col(0) = r;
  for (Index probe = 0; probe < probes; ++probe) {
    auto z = X.col(1 + probes + probe);
    for (Index n = 0; n < rows_; ++n) z[n] = (generator() >> 16) % 2 == 0 ? 1 : -1;
    X.col(1 + probe) = d.cwiseProduct(z);
  }
  const Matrix VX = expand(solve(project(X)));
  const Matrix dvz = d.asDiagonal() * VX.rightCols(probes);
  const auto bend = [&](const Matrix& MX) {
    return std::abs(MX.middleCols(1, probes).cwiseProduct(dvz).sum()) / probes;
  };
  const double norm = r.dot(VX.col(0)) + 0.5 * bend(VX);
  if (null_dimension() > 0) return {std::numeric_limits<double>::infinity(), norm};
  const Matrix CX = prior_times(X.leftCols(1 + probes));
  return {0.5 * (r.dot(CX.col(0)) + bend(CX)), norm};
}

void SparseSolver::sweep(const SiteChange&) {
  throw std::logic_error("a sparse factor does not follow single sites");
}

Matrix SparseSolver::whitened_design() const {
  Matrix out(rows_, latent_dimension());
  out.leftCols(fields_.size()) = fields_.whitened(context_, Matrix(fields_.rows().transpose())).transpose();
  columns_.fill(0, out.rightCols(columns_.size()));
  return out;
}

}  // namespace galvi
