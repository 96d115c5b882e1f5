#include "solver/sparse.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

namespace {

// Columns that are solved for at a time.
constexpr Index block_columns = 64;

// Relative change of A by which derivatives are taken as differences of fourth order: its fourth power and
// the rounding of a difference over it are both about 1e-12.
constexpr double relative_step = 1e-3;

}  // namespace

SparseSolver::SparseSolver(Context& context, Terms terms, Index rows)
    : context_(context),
      terms_(std::move(terms)),
      rows_(rows),
      fields_(terms_, rows),
      columns_(context, terms_, rows),
      symbolic_(fields_.pattern()) {
  for (const auto& term : terms_)
    if (!term->field() && term->columns() == 0)
      throw std::invalid_argument("term " + term->label() +
                                  " is neither a field nor a finite set of columns");
}

void SparseSolver::update(const ConstVectorRef& hyper) {
  for (auto& term : terms_) term->update(hyper);
  fields_.update();
  columns_.update();
  prior_mean_ = galvi::prior_mean(terms_, rows_);
  prior_variances_ = fields_.row_variances(context_);
  columns_.add_prior_variances(prior_variances_, extra_variances_);
  factor_.reset();
  predicted_alpha_.resize(0);
  prior_.resize(0, 0);
}

BorderedFactor SparseSolver::factor_at(const Vector& lambda) const {
  return {context_, fields_, columns_, symbolic_, lambda};
}

bool SparseSolver::factorise(const Vector& lambda) {
  lambda_ = lambda;
  variances_.resize(0);
  covariance_.resize(0, 0);
  factor_.emplace(factor_at(lambda));
  return factor_->ok();
}

void SparseSolver::use(const Vector& lambda) {
  const bool at_hand = factor_ && factor_->ok() && lambda_ == lambda;
  if (!at_hand && !factorise(lambda)) throw_singular();
}

double SparseSolver::log_det() const { return factor_->log_det() - fields_.log_det(context_); }

// A change dA of A changes log|A| by tr(A^-1 dA), and rounding changes a diagonal by its last digit. A long
// rw2 has entries that cancel to a millionth of their size.
double SparseSolver::rounding() const {
  const double epsilon = std::numeric_limits<double>::epsilon();
  const Vector& inverse = factor_->selected_inverse(context_);
  const SparseMatrix& pattern = fields_.pattern();
  double sum = 0;
  for (Index j = 0; j < fields_.size(); ++j)
    sum += factor_->diagonal()[j] * inverse[pattern.outerIndexPtr()[j]];
  return 0.5 * epsilon * sum;
}

SparseSolver::Latent SparseSolver::project(const Vector& x) const {
  return {fields_.rows().transpose() * x, columns_.project(x)};
}

Vector SparseSolver::expand(const Latent& u) const {
  return fields_.rows() * u.z.col(0) + columns_.expand(u.beta.col(0));
}

SparseSolver::Latent SparseSolver::solve(Latent u) const {
  factor_->solve(context_, u.z, u.beta);
  return u;
}

Vector SparseSolver::variances(const BorderedFactor& factor) const {
  Vector out = fields_.quadratic_forms(factor.selected_inverse(context_));
  columns_.for_chunks(factor.row_flops() * rows_, [&](Index, Index begin, MatrixRef chunk) {
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

SiteMean SparseSolver::posterior_mean(const Vector& b) {
  SiteMean out;
  const Latent u = solve(project(b));
  out.mean = expand(u);
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  // One step of refinement, as in ProjectedSolver: at the solution W' alpha = Sigma^-1 u up to the
  // constraints' multipliers.
  Latent rest = project(out.alpha);
  rest.z -= fields_.precision_times(u.z);
  rest.beta -= columns_.precision().cwiseProduct(u.beta.col(0));
  out.mean += expand(solve(std::move(rest)));
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  return out;
}

SiteMean SparseSolver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  factorise_observations(lambda, "a field");
  SiteMean out = posterior_mean(lambda.cwiseProduct(r));
  // (r - mean)' Lambda (r - mean) + u' Sigma^-1 u = r' alpha
  log_evidence = gaussian_log_evidence(r.dot(out.alpha));
  return out;
}

Vector SparseSolver::apply_prior(const Vector& x) const {
  Latent u = project(x);
  u.z = fields_.covariance_times(context_, u.z);
  return expand(u);
}

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
    columns_.for_chunks(2.0 * rows_ * u.beta.size(), [&](Index, Index begin, MatrixRef chunk) {
      out.middleRows(begin, chunk.rows()) += chunk * u.beta;
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
  if (prior_.size() > 0) return prior_;
  prior_ = Matrix::Zero(rows_, rows_);
  for (const auto& term : terms_) term->add_covariance(context_, prior_);
  fill_upper(prior_);
  if (extra_variances_.size() > 0) prior_.diagonal() -= extra_variances_;  // terms count c in
  return prior_;
}

void SparseSolver::differentiate(const Vector& direction,
                                 const std::function<void(double, const BorderedFactor&)>& visit) const {
  // A + e W' D W changes A by no more than e max(|D| / lambda) relative to itself where lambda > 0, and by no
  // more than e sum |D| v elsewhere.
  const Vector& v = marginal_variances();
  double ratio = 0, without = 0, all = 0;
  for (Index n = 0; n < rows_; ++n) {
    const double d = std::abs(direction[n]);
    all += d * v[n];
    if (lambda_[n] > 0)
      ratio = std::max(ratio, d / lambda_[n]);
    else
      without += d * v[n];
  }
  const double largest = std::min(all, ratio + without);
  if (!(largest > 0)) return;
  const double h = relative_step / largest;
  for (const auto& [steps, share] : {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
    const BorderedFactor near = factor_at(lambda_ + steps * h * direction);
    if (!near.ok()) throw_singular();
    visit(share / (12 * h), near);
  }
}

// (V o V) x = diag(V diag(x) V) is minus the derivative of diag(V) as lambda moves along x.
Vector SparseSolver::apply_squared_covariance(const Vector& x) const {
  if (cheap_products()) return squared_symmetric_product(context_, dense_covariance(), x);
  Vector out = Vector::Zero(rows_);
  differentiate(x, [&](double share, const BorderedFactor& near) { out -= share * variances(near); });
  return out;
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
  Vector v = marginal_variances(), c = prior_variances_;
  if (extra_variances_.size() > 0) {
    v -= extra_variances_;
    c -= extra_variances_;
  }
  return {flat ? infinity : 0.5 * (r.dot(apply_prior(r)) + bound(c, v)), from_mean + 0.5 * bound(v, v)};
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

// With K = A^-1 under the constraints, u = K W' b and p = K W' (d_mean - alpha), zero at the optimum,
//   d bound / dQ   = (Q^- - K - u u') / 2 - sym(p u') + K'
//   d bound / dW_d = d_mean u' + 2 diag(d_variance) W K + diag(lambda) (2 W K' - W p u') + alpha p',
// where K' is K's derivative as lambda moves along d_variance + lambda / 2.
void SparseSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  const Latent u = solve(project(site.b));
  Latent p;
  Vector shift;  // W p
  if (!site.optimal) {
    p = solve(project(site.d_mean - site.alpha));
    shift = expand(p);
  }
  const bool fields = fields_.size() > 0, columns = columns_.size() > 0;
  ColumnGradients sums(terms_, columns_);
  Vector bend = Vector::Zero(fields_.pattern().nonZeros());  // -K / 2 + K', on the pattern
  const auto add_factor = [&](const BorderedFactor& factor, double share, const Vector& weight,
                              bool first) {
    if (fields) {
      bend += share * factor.selected_inverse(context_);
      const SparseMatrix& pattern = fields_.pattern();
      Index e = 0;
      for (Index j = 0; j < pattern.cols(); ++j)
        for (SparseMatrix::InnerIterator entry(pattern, j); entry; ++entry, ++e)
          bend[e] += share * factor.border_covariance(entry.row(), j);
    }
    if (!columns) return;
    const Vector none = Vector::Zero(first ? 0 : rows_);
    const Vector& extra = !first ? none : site.d_extra ? *site.d_extra : site.d_variance;
    columns_.for_chunks(factor.row_flops() * rows_, [&](Index group, Index begin, MatrixRef chunk) {
      const auto part = [&](const Vector& x) { return x.segment(begin, chunk.rows()); };
      Matrix G = (2 * part(weight)).asDiagonal() *
                 factor.cross_covariance(context_.backend, fields_.rows(), begin, chunk).transpose();
      if (first) {
        G.noalias() += part(site.d_mean) * u.beta.transpose();
        if (!site.optimal) {
          G.noalias() -= part(lambda_).cwiseProduct(part(shift)) * u.beta.transpose();
          G.noalias() += part(site.alpha) * p.beta.transpose();
        }
      }
      sums.add(group, begin, chunk, G, part(extra));
    });
  };
  add_factor(*factor_, -0.5, site.d_variance, true);
  if (!site.optimal)
    differentiate(site.d_variance + 0.5 * lambda_, [&](double share, const BorderedFactor& near) {
      add_factor(near, share, share * lambda_, false);
    });
  fields_.add_gradient(
      context_,
      [&](Index i, Index j, Index position) {
        double G = bend[position] - 0.5 * u.z(i) * u.z(j);
        if (!site.optimal) G -= 0.5 * (p.z(i) * u.z(j) + u.z(i) * p.z(j));
        return G;
      },
      hyper);
  if (columns) sums.finish(hyper);
}

SolverState SparseSolver::state(const SiteMean& site_mean, bool) {
  SolverState out;
  out.alpha = site_mean.alpha;
  out.lambda = lambda_;
  out.b = site_mean.alpha + lambda_.cwiseProduct(site_mean.mean);
  return out;
}

std::vector<Coefficients> SparseSolver::coefficients(const SolverState& state) {
  use(state.lambda);
  const Vector beta = columns_.scale().cwiseProduct(solve(project(state.b)).beta.col(0));
  const Matrix covariance =
      columns_.scale().asDiagonal() * factor_->coefficient_covariance() * columns_.scale().asDiagonal();
  std::vector<Coefficients> out;
  for (std::size_t t = 0; t < terms_.size(); ++t)
    if (const Index q = terms_[t]->columns(), at = columns_.begin(t); q > 0)
      out.push_back({terms_[t]->label(), columns_.mean().segment(at, q) + beta.segment(at, q),
                     covariance.block(at, at, q, q)});
  return out;
}

// Var(w'u) of rows: from the selected inverse where all pairs of a row's nodes are on the pattern, as in
// training rows, else by a solve.
Vector SparseSolver::variances_of(const SparseRows& W, const Matrix& dense) const {
  Vector out;
  factor_->cross_covariance(context_.backend, W, 0, dense, &out);
  const Vector& inverse = factor_->selected_inverse(context_);
  std::vector<Index> unknown;
  for (Index n = 0; n < W.rows(); ++n) {
    double sum = 0;
    bool known = true;
    for (SparseRows::InnerIterator a(W, n); a; ++a)
      for (SparseRows::InnerIterator b(W, n); b; ++b) {
        const Index at = fields_.position(a.col(), b.col());
        known = known && at >= 0;
        if (known) sum += a.value() * b.value() * inverse[at];
      }
    if (known)
      out[n] += sum;
    else
      unknown.push_back(n);
  }
  for (std::size_t begin = 0; begin < unknown.size(); begin += block_columns) {
    context_.monitor.poll();
    const Index number = std::min<Index>(block_columns, unknown.size() - begin);
    Matrix X = Matrix::Zero(fields_.size(), number);
    for (Index k = 0; k < number; ++k)
      for (SparseRows::InnerIterator w(W, unknown[begin + k]); w; ++w) X(w.col(), k) = w.value();
    const Vector forms = factor_->quadratic_forms(context_, std::move(X));
    for (Index k = 0; k < number; ++k) out[unknown[begin + k]] += forms[k];
  }
  return out;
}

Conditional SparseSolver::conditional(const SolverState& state, const std::vector<TermRows>& others,
                                      const ConditionalRequest& request) {
  const Index T = static_cast<Index>(terms_.size()), b = others.empty() ? 0 : rows_of(others[0]);
  const bool factored = request.variance || request.covariance;
  if (factored || null_dimension() > 0) use(state.lambda);
  if (predicted_alpha_.size() != rows_ || predicted_alpha_ != state.alpha) {
    predicted_alpha_ = state.alpha;
    if (null_dimension() > 0) {  // alpha does not tell the coefficients with a flat prior
      predicted_ = solve(project(state.b));
    } else {
      predicted_ = project(state.alpha);
      predicted_.z = fields_.covariance_times(context_, predicted_.z);
    }
  }
  Conditional out;
  out.mean = Vector::Zero(b);
  if (request.terms) {
    out.term_mean.resize(b, T);
    out.term_variance = Matrix::Zero(b, T);
  }
  Matrix dense(b, columns_.size());
  Vector extra = Vector::Zero(b);
  for (Index t = 0; t < T; ++t) {
    const Index q = terms_[t]->columns(), at = columns_.begin(t);
    auto own_columns = dense.middleCols(at, q);
    if (q > 0) terms_[t]->fill(others[t], own_columns);
    Vector own = Vector::Zero(b), mean = Vector::Zero(b);
    terms_[t]->add_extra_variances(others[t], own_columns, own);
    terms_[t]->add_prior_mean(others[t], mean);
    const SparseRows W = fields_.design(others, t);
    mean += W * predicted_.z.col(0) + own_columns * predicted_.beta.col(0).segment(at, q);
    out.mean += mean;
    extra += own;
    if (!request.terms) continue;
    out.term_mean.col(t) = mean;
    if (!factored) continue;
    Matrix alone = Matrix::Zero(b, columns_.size());
    alone.middleCols(at, q) = own_columns;
    out.term_variance.col(t) = variances_of(W, alone) + own;
  }
  if (!factored) {
    out.variance = Vector::Zero(b);
    return out;
  }
  const SparseRows W = fields_.design(others);
  if (request.covariance) {
    const Latent u = solve({Matrix(W.transpose()), dense.transpose()});
    out.covariance = W * u.z + dense * u.beta;
    out.covariance = (0.5 * (out.covariance + out.covariance.transpose())).eval();
    out.covariance.diagonal() += extra;
    out.variance = out.covariance.diagonal();
  } else {
    out.variance = variances_of(W, dense) + extra;
  }
  return out;
}

}  // namespace galvi
