#include "solver/units.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "numeric/dense.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

const FactorsTerm& only_factors(const Prior& prior) {
  const FactorsTerm* term = prior.size() == 1 ? prior[0].factors() : nullptr;
  if (!term) throw std::invalid_argument("units are independent with one factors term alone");
  return *term;
}

// W diag(x) W'
Matrix weighted(const Matrix& W, const Vector& x) { return W * x.asDiagonal() * W.transpose(); }

}  // namespace

UnitsSolver::UnitsSolver(Context& context, std::shared_ptr<Prior> prior,
                         std::shared_ptr<const DesignRows> design)
    : Solver(context, std::move(prior), std::move(design)),
      term_(only_factors(*prior_)),
      seen_((*design_)[0]),
      d_(term_.dimension()),
      order_(rows_),
      first_(term_.units() + 1, 0) {
  for (Index n = 0; n < rows_; ++n) {
    if (seen_.node(n) < 0 || seen_.node(n) >= term_.units())
      throw std::invalid_argument("term " + term_.label() + ": a row has a unit that the term does not have");
    ++first_[seen_.node(n) + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<Index> next = first_;
  for (Index n = 0; n < rows_; ++n) order_[next[seen_.node(n)]++] = n;
}

Vector UnitsSolver::Unit::of(const Vector& x) const {
  Vector out(size());
  for (Index i = 0; i < size(); ++i) out[i] = x[rows[i]];
  return out;
}

void UnitsSolver::Unit::put(const Vector& from, Vector& to) const {
  for (Index i = 0; i < size(); ++i) to[rows[i]] = from[i];
}

void UnitsSolver::for_units(double row_flops, const std::function<void(const Unit&)>& body) const {
  constexpr Index block_rows = 4096;  // about
  const Index blocks = rows_ / block_rows + 1;
  parallel_for(context_, blocks, row_flops * static_cast<double>(rows_), [&](Index block) {
    // units that start within the block's share of the rows
    const auto at = [&](Index b) {
      return std::lower_bound(first_.begin(), first_.end() - 1, b * rows_ / blocks) - first_.begin();
    };
    const Index last = block + 1 == blocks ? term_.units() : at(block + 1);
    Unit unit;
    for (Index u = block == 0 ? 0 : at(block); u < last; ++u) {
      const Index n = first_[u + 1] - first_[u];
      if (n == 0) continue;
      unit.number = u;
      unit.rows = order_.data() + first_[u];
      unit.W.resize(d_, n);
      for (Index i = 0; i < n; ++i) unit.W.col(i) = term_.loadings().col(seen_.item(unit.rows[i]));
      body(unit);
    }
  });
  context_.cost.flops += row_flops * static_cast<double>(rows_);
}

Vector UnitsSolver::expand(double row_flops, const std::function<Vector(const Unit&)>& f) const {
  Vector out(rows_);
  for_units(row_flops, [&](const Unit& unit) { unit.put(unit.W.transpose() * f(unit), out); });
  return out;
}

double UnitsSolver::sum(double row_flops, const std::function<double(const Unit&)>& f) const {
  Vector parts = Vector::Zero(term_.units());
  for_units(row_flops, [&](const Unit& unit) { parts[unit.number] = f(unit); });
  return parts.sum();
}

void UnitsSolver::refresh() {
  prior_mean_ = prior_->mean(*design_);
  prior_variances_ = Vector::Zero(rows_);
  prior_->add_variances(context_, *design_, prior_variances_);
  factorised_ = false;
  kept_b_.resize(0);
}

// A = I + W diag(lambda) W' of each unit
bool UnitsSolver::factorise(const Vector& lambda) {
  lambda_ = lambda;
  kept_b_.resize(0);
  const Matrix identity = Matrix::Identity(d_, d_);
  covariance_.resize(d_ * d_, term_.units());
  covariance_.colwise() = Eigen::Map<const Vector>(identity.data(), d_ * d_);
  variances_.resize(rows_);
  log_det_ = sum(6.0 * d_ * d_, [&](const Unit& unit) {
    const Eigen::LLT<Matrix> factor(identity + weighted(unit.W, unit.of(lambda)));
    if (factor.info() != Eigen::Success) return std::numeric_limits<double>::quiet_NaN();
    const Matrix S = factor.solve(identity);
    covariance_.col(unit.number) = Eigen::Map<const Vector>(S.data(), d_ * d_);
    unit.put((S * unit.W).cwiseProduct(unit.W).colwise().sum().transpose(), variances_);
    return 2 * factor.matrixLLT().diagonal().array().log().sum();
  });
  ++context_.cost.factorisations;
  factorised_ = std::isfinite(log_det_);
  return factorised_;
}

Matrix UnitsSolver::means(const Vector& b) const {
  Matrix out = Matrix::Zero(d_, term_.units());
  for_units(2.0 * d_, [&](const Unit& unit) {
    out.col(unit.number) = covariance_of(unit.number) * (unit.W * unit.of(b));
  });
  return out;
}

SiteMean UnitsSolver::posterior_mean(const Vector& b) {
  SiteMean out;
  const Matrix m = means(b);
  out.mean = expand(2.0 * d_, [&](const Unit& unit) -> Vector { return m.col(unit.number); });
  out.alpha = b - lambda_.cwiseProduct(out.mean);
  out.squared_norm = m.squaredNorm();
  out.rounding = std::numeric_limits<double>::epsilon() * out.squared_norm;
  return out;
}

Vector UnitsSolver::apply_prior(const Vector& x) const {
  return expand(4.0 * d_, [&](const Unit& unit) -> Vector { return unit.W * unit.of(x); });
}

Vector UnitsSolver::apply_covariance(const Vector& x) const {
  return expand(4.0 * d_, [&](const Unit& unit) -> Vector {
    return covariance_of(unit.number) * (unit.W * unit.of(x));
  });
}

// (V o V) x = diag(V diag(x) V), and V diag(x) V = W' S D S W
Vector UnitsSolver::apply_squared_covariance(const Vector& x) const {
  Vector out(rows_);
  for_units(6.0 * d_ * d_, [&](const Unit& unit) {
    const auto S = covariance_of(unit.number);
    const Matrix inner = S * weighted(unit.W, unit.of(x)) * S;
    unit.put((inner * unit.W).cwiseProduct(unit.W).colwise().sum().transpose(), out);
  });
  return out;
}

Distance UnitsSolver::distance(const Vector& r, const Vector& d) const {
  Matrix parts = Matrix::Zero(2, term_.units());
  for_units(4.0 * d_ * d_, [&](const Unit& unit) {
    const auto S = covariance_of(unit.number);
    const Vector from_mean = unit.W * unit.of(r);
    const Matrix D = weighted(unit.W, unit.of(d)), SD = S * D;
    parts(0, unit.number) = from_mean.squaredNorm() + D.cwiseProduct(SD).sum();
    parts(1, unit.number) = from_mean.dot(S * from_mean) + 0.5 * SD.cwiseProduct(SD.transpose()).sum();
  });
  return {0.5 * parts.row(0).sum(), parts.row(1).sum()};
}

Matrix UnitsSolver::covariance(const std::vector<Index>& rows) const {
  Matrix out = Matrix::Zero(rows_, static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index u = seen_.node(rows[k]);
    const Vector Sw = covariance_of(u) * term_.loadings().col(seen_.item(rows[k]));
    for (Index i = first_[u]; i < first_[u + 1]; ++i)
      out(order_[i], k) = Sw.dot(term_.loadings().col(seen_.item(order_[i])));
  }
  return out;
}

// S - c S w w' S with c = change / (1 + change v)
void UnitsSolver::sweep(const SiteChange& change) {
  for (Index n = 0; n < rows_; ++n) {
    Eigen::Map<Matrix> S(covariance_.col(seen_.node(n)).data(), d_, d_);
    const auto w = term_.loadings().col(seen_.item(n));
    const Vector Sw = S * w;
    const double v = w.dot(Sw), by = change(n, v);
    if (by == 0) continue;
    S -= by / (1 + by * v) * Sw * Sw.transpose();
    lambda_[n] += by;
  }
  if (!factorise(Vector(lambda_))) throw_singular();
}

Matrix UnitsSolver::whitened_design() const { return term_.field_design(seen_); }

UnitMoments UnitsSolver::unit_moments(Index, const Vector& b) {
  UnitMoments out;
  out.mean = means(b);
  out.covariance = covariance_;
  out.cross.resize(d_, rows_);
  for_units(2.0 * d_ * d_, [&](const Unit& unit) {
    const Matrix SW = covariance_of(unit.number) * unit.W;
    for (Index i = 0; i < unit.size(); ++i) out.cross.col(unit.rows[i]) = SW.col(i);
  });
  return out;
}

// The formulas are those of SparseSolver::gradient(), unit by unit.
void UnitsSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  Matrix G(rows_, d_);
  for_units(8.0 * d_ * d_, [&](const Unit& unit) {
    const auto S = covariance_of(unit.number);
    const Vector m = S * (unit.W * unit.of(site.b)), lambda = unit.of(lambda_), alpha = unit.of(site.alpha),
                 slope = unit.of(site.d_variance);
    Vector with_mean = unit.of(site.d_mean);
    Matrix own = 2 * S * unit.W * slope.asDiagonal();
    if (!site.optimal) {
      const Vector p = S * (unit.W * (with_mean - alpha));
      with_mean -= lambda.cwiseProduct(unit.W.transpose() * p);
      own += p * alpha.transpose();
      own -= 2 * S * weighted(unit.W, slope + 0.5 * lambda) * S * unit.W * lambda.asDiagonal();
    }
    own += m * with_mean.transpose();
    for (Index i = 0; i < unit.size(); ++i) G.row(unit.rows[i]) = own.col(i).transpose();
  });
  term_.add_field_design_gradient(seen_, G, Vector(), hyper);
}

double UnitsSolver::rounding() const {
  return std::numeric_limits<double>::epsilon() * (latent_dimension() + std::abs(log_det_));
}

void UnitsSolver::stand_at(const SolverState& state) {
  if (!(factorised_ && lambda_ == state.lambda) && !factorise(state.lambda)) throw_singular();
  if (kept_b_.size() != state.b.size() || kept_b_ != state.b) {
    kept_means_ = means(state.b);
    kept_b_ = state.b;
  }
}

// z_i = m_i + chol(S_i) e for units that were observed, e ~ N(0, I) for others.
Matrix UnitsSolver::draw(const SolverState& state, const DesignRows& others, Index count) {
  stand_at(state);
  const TermRows& rows = others[0];
  const Index n = others.size();
  Index units = term_.units();
  for (Index i = 0; i < n; ++i) units = std::max<Index>(units, rows.node(i) + 1);
  std::vector<Matrix> root(units);
  for (Index i = 0; i < n; ++i) {
    const Index u = rows.node(i);
    if (u >= 0 && u < term_.units() && root[u].size() == 0) root[u] = Matrix(covariance_of(u)).llt().matrixL();
  }
  Matrix out = prior_->mean(others).replicate(1, count);
  for (Index c = 0; c < count; ++c) {
    context_.monitor.poll();
    Matrix z = white_noise(context_, d_, units);
    for (Index u = 0; u < term_.units(); ++u)
      if (root[u].size() > 0) z.col(u) = kept_means_.col(u) + root[u] * z.col(u).eval();
    for (Index i = 0; i < n; ++i)
      if (const Index u = rows.node(i); u >= 0) out(i, c) += term_.loadings().col(rows.item(i)).dot(z.col(u));
  }
  return out;
}

Conditional UnitsSolver::conditional(const SolverState& state, const DesignRows& others,
                                     const ConditionalRequest& request) {
  stand_at(state);
  const TermRows& rows = others[0];
  const Index n = others.size();
  const Matrix prior = Matrix::Identity(d_, d_);
  Conditional out;
  out.mean = prior_->mean(others);
  out.variance.resize(n);
  Matrix Sw(d_, n);
  for (Index i = 0; i < n; ++i) {
    const Index u = rows.node(i);
    const Vector w = (u >= 0 ? 1.0 : 0.0) * term_.loadings().col(rows.item(i));
    const bool known = u >= 0 && u < term_.units();
    if (known) out.mean[i] += w.dot(kept_means_.col(u));
    Sw.col(i) = known ? Vector(covariance_of(u) * w) : w;
    out.variance[i] = w.dot(Sw.col(i));
  }
  if (request.terms) {
    out.term_mean = out.mean;
    out.term_variance = out.variance;
  }
  if (!request.covariance) return out;
  out.covariance = Matrix::Zero(n, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < n; ++i)
      if (rows.node(i) >= 0 && rows.node(i) == rows.node(j))
        out.covariance(i, j) = Sw.col(i).dot(term_.loadings().col(rows.item(j)));
  return out;
}

}  // namespace galvi
