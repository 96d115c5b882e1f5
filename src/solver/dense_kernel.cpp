#include "solver/dense_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace galvi {

namespace {

constexpr Index rows_per_sweep = 48;  // wide enough for matrix products, narrow enough to stay in the cache

// Below this lambda_n C_nn the identity V = (I - B^-1) / lambda loses digits and the column is computed directly.
constexpr double small_site = 1e-5;
constexpr double max_relative_jitter = 1e-4;

bool in_natural_order(const std::vector<Index>& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<Index>(i)) return false;
  return true;
}

}  // namespace

DenseKernelSolver::DenseKernelSolver(Context& context, std::shared_ptr<Prior> prior,
                                     std::shared_ptr<const DesignRows> design)
    : Solver(context, std::move(prior), std::move(design)) {
  prior_mean_ = Vector::Zero(rows_);
}

void DenseKernelSolver::refresh() {
  const bool fitted = searched_;
  jitter_ = 0;
  searched_ = false;
  roots_.clear();
  root_.resize(rows_, 0);
  built_ = false;
  prior_mean_ = prior_->mean(*design_);
  prior_variances_ = Vector::Zero(rows_);
  // the variances of centred terms follow from the sums of C's rows
  if (prior_->centred()) {
    find_root();
    if (root_.cols() == 0 && fitted) build_prior();
  }
  prior_->add_variances(context_, *design_, prior_variances_);
  if (!prior_variances_.allFinite())
    throw std::domain_error(
        "a flat prior (infinite sd) cannot be combined with a full gp(); give it a finite sd");
  forget_posterior();
}

void DenseKernelSolver::forget_posterior() {
  content_ = Content::nothing;
  posterior_root_.resize(rows_, 0);
}

void DenseKernelSolver::find_root() {
  if (searched_) return;
  searched_ = true;
  roots_ = prior_->roots(context_, *design_, rows_ / 4);
  if (roots_.empty()) return;
  left_out_ = 0;
  Index rank = 0;
  for (const LowRank& own : roots_) rank += own.root.cols();
  root_.resize(rows_, rank);
  rank = 0;
  for (const LowRank& own : roots_) {
    root_.middleCols(rank, own.root.cols()) = own.root;
    rank += own.root.cols();
    left_out_ += own.left;
  }
}

void DenseKernelSolver::build_prior() {
  if (built_) return;
  built_ = true;
  C_.setZero(rows_, rows_);
  prior_->add_covariance(context_, *design_, C_);
  fill_upper(C_);
}

// What the root leaves out of C changes log|B| by at most lambda' left, and V by less than lambda V left.
bool DenseKernelSolver::root_serves(const Vector& lambda) const {
  constexpr double negligible = 1e-9;  // nats
  return root_.cols() > 0 && left_out_ * lambda.cwiseAbs().sum() <= negligible;
}

// With C = R R' and A = I + R' Lambda R = L L':   log|B| = log|A|,   V = H H',   H = R L^-T.
bool DenseKernelSolver::factorise_by_root() {
  const Index rank = root_.cols();
  Matrix A = Matrix::Identity(rank, rank);
  add_weighted_crossproduct(context_.backend, root_, lambda_, A);
  if (!cholesky(context_, A)) return false;
  log_det_ = 2 * A.diagonal().array().log().sum();
  Matrix X = root_.transpose();
  solve_lower(context_, A, X);
  precision_chol_ = std::move(A);
  posterior_root_ = X.transpose();
  variances_ = posterior_root_.rowwise().squaredNorm();
  content_ = Content::root;
  // a product with V o V takes 3 N rank^2 operations with H, and reads N^2 numbers without it
  constexpr Index few = 2;
  if (rank * rank > few * rows_) store_covariance();
  return true;
}

void DenseKernelSolver::store_covariance() {
  if (content_ != Content::root) return;
  work_.resize(rows_, rows_);
  add_crossproduct(context_, 1.0, posterior_root_.transpose(), 0.0, work_);
  content_ = Content::covariance;
}

void DenseKernelSolver::scale(const Vector& lambda) {
  lambda_ = lambda;
  scale_.resize(rows_);
  diagonal_.resize(rows_);
  order_.clear();
  std::vector<Index> negative;
  for (Index n = 0; n < rows_; ++n) {
    if (std::isinf(lambda[n])) {
      scale_[n] = prior_variances_[n] > 0 ? 1 / std::sqrt(prior_variances_[n]) : 1.0;
      diagonal_[n] = 0;
    } else {
      scale_[n] = std::sqrt(std::abs(lambda[n]));
      diagonal_[n] = lambda[n] < 0 ? -1 : 1;
    }
    (lambda[n] < 0 ? negative : order_).push_back(n);
  }
  positive_ = static_cast<Index>(order_.size());
  order_.insert(order_.end(), negative.begin(), negative.end());
}

// B = D + T C T in the order of order_, then L of B = L J L'. In the natural order B may be C itself.
bool DenseKernelSolver::factor_scaled(const Matrix& C, MatrixRef B) {
  const bool natural = in_natural_order(order_);
  for (Index j = 0; j < rows_; ++j) {
    const Index column = order_[j];
    const Index length = rows_ - j;
    if (natural) {
      B.col(j).tail(length) = scale_[j] * scale_.tail(length).cwiseProduct(C.col(j).tail(length));
    } else {
      for (Index i = j; i < rows_; ++i) B(i, j) = scale_[order_[i]] * scale_[column] * C(order_[i], column);
    }
    B(j, j) += diagonal_[column];
  }
  return signed_cholesky(context_, B, positive_);
}

bool DenseKernelSolver::factor_with_jitter() {
  build_prior();
  work_.resize(rows_, rows_);
  if (factor_scaled(C_, work_)) return true;
  if (positive_ < rows_) return false;  // a negative lambda too large: no posterior there
  // C itself is not positive definite at working precision.
  const double mean_variance = prior_variances_.mean();
  double relative = jitter_ > 0 ? 10 * jitter_ / mean_variance : 1e-10;
  for (; relative <= max_relative_jitter; relative *= 10) {
    const double added = relative * mean_variance - jitter_;
    C_.diagonal().array() += added;
    roots_.clear();
    root_.resize(rows_, 0);
    prior_variances_.array() += added;
    jitter_ += added;
    if (factor_scaled(C_, work_)) return true;
  }
  throw std::domain_error(
      "the covariance matrix is not positive definite, even with jitter; rescale the inputs or "
      "add a white() kernel");
}

bool DenseKernelSolver::factorise(const Vector& lambda) {
  scale(lambda);
  forget_posterior();
  find_root();
  if (root_serves(lambda)) {
    if (factorise_by_root()) return true;
    if (positive_ < rows_) return false;  // nor has C, then
  }
  if (!factor_with_jitter()) return false;
  log_det_ = 2 * work_.diagonal().array().log().sum();

  std::vector<Index> small;
  for (Index n = 0; n < rows_; ++n)
    if (std::abs(lambda[n]) * prior_variances_[n] < small_site) small.push_back(n);
  const Matrix direct = scaled_columns(small);  // needs L, which is about to be overwritten

  invert_from_cholesky(context_, work_, positive_);
  // V = D / T^2 - D T^-1 B^-1 T^-1 D, in place and in the order of the data.
  Matrix& V = work_;
  if (!in_natural_order(order_)) {
    Matrix natural(rows_, rows_);
    for (Index j = 0; j < rows_; ++j)
      for (Index i = j; i < rows_; ++i) {
        const Index row = std::max(order_[i], order_[j]), column = std::min(order_[i], order_[j]);
        natural(row, column) = V(i, j);
      }
    V.swap(natural);
  }
  const Vector t = scale_.cwiseMax(std::numeric_limits<double>::min()).cwiseInverse().cwiseProduct(diagonal_);
  for (Index j = 0; j < rows_; ++j) {
    const Index length = rows_ - j;
    V.col(j).tail(length) = (-t[j]) * t.tail(length).cwiseProduct(V.col(j).tail(length));
    V(j, j) += diagonal_[j] * t[j] * t[j];
  }
  for (std::size_t k = 0; k < small.size(); ++k) {
    const Index n = small[k];
    V.row(n).head(n) = direct.col(k).head(n).transpose();
    V.col(n).tail(rows_ - n) = direct.col(k).tail(rows_ - n);
  }
  content_ = Content::covariance;
  variances_ = V.diagonal();
  return variances_.minCoeff() > 0 || positive_ == rows_;
}

// Columns of V without dividing by lambda: C_n - C T B^-1 T C_n.
Matrix DenseKernelSolver::scaled_columns(const std::vector<Index>& rows) const {
  const Index r = static_cast<Index>(rows.size());
  if (r == 0) return {};
  Matrix columns(rows_, r);
  for (Index k = 0; k < r; ++k) columns.col(k) = C_.col(rows[k]);
  Matrix x = precision_product(columns);
  multiply(context_, false, false, -1.0, C_, x, 1.0, columns);
  return columns;
}

// (C + 1 / lambda)^-1 X = T B^-1 T X while L is available.
Matrix DenseKernelSolver::precision_product(const Matrix& X) const {
  Matrix permuted(rows_, X.cols());
  for (Index i = 0; i < rows_; ++i) permuted.row(i) = scale_[order_[i]] * X.row(order_[i]);
  solve_lower(context_, work_, permuted);
  permuted.bottomRows(rows_ - positive_) *= -1;
  solve_lower_transposed(context_, work_, permuted);
  Matrix out(rows_, X.cols());
  for (Index i = 0; i < rows_; ++i) out.row(order_[i]) = scale_[order_[i]] * permuted.row(i);
  return out;
}

// Where lambda V is close to one, alpha = b - lambda V b is the small difference of two large numbers. Each
// step of refinement restores about as many digits as lambda V has correct. Without them, counts of 1e5 under
// a prior variance of 1e4 lose 1e-5 nats.
SiteMean DenseKernelSolver::posterior_mean(const Vector& b) {
  constexpr int most = 6;
  SiteMean out;
  Vector change = b;
  double before = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= most; ++step) {
    Vector alpha = change - lambda_.cwiseProduct(apply_covariance(change));
    if (step > 0) alpha += out.alpha;
    const Vector mean = apply_prior(alpha);
    change = b - alpha - lambda_.cwiseProduct(mean);
    const double rest = change.norm();
    if (step > 0 && !(rest < before)) break;
    out.alpha = alpha;
    out.mean = mean;
    const double size = b.norm() + alpha.norm() + lambda_.cwiseProduct(mean).norm();
    if (step > 0 && (rest > 0.5 * before || rest <= std::numeric_limits<double>::epsilon() * size)) break;
    before = rest;
  }
  out.squared_norm = out.alpha.dot(out.mean);
  out.rounding = product_rounding(out.alpha) + 0.5 * jitter_ * out.alpha.squaredNorm();
  return out;
}

// Effect of rounding in C alpha on alpha' C alpha: errors of N terms, which add up at random.
double DenseKernelSolver::product_rounding(const Vector& alpha) const {
  return std::numeric_limits<double>::epsilon() * alpha.cwiseAbs2().dot(prior_variances_);
}

// Factorising B perturbs it by rounding errors relative to B_ii B_jj, and log|B| and tr B^-1 by that times
// B^-1. The diagonal of B = D + T C T is a sum whose parts may cancel where lambda is negative.
double DenseKernelSolver::rounding() const {
  const Vector squared = scale_.cwiseAbs2();
  const Vector B = diagonal_.cwiseAbs() + squared.cwiseProduct(prior_variances_);
  const Vector inverse = content_ == Content::inverse ? Vector(work_.diagonal())
                                                      : Vector(diagonal_ - squared.cwiseProduct(variances_));
  // Jitter is part of the model where it stands for noise, else an error: d log|B| / d jitter = tr(T B^-1 T).
  const double jitter = content_ == Content::inverse ? 0 : 0.5 * jitter_ * squared.dot(inverse.cwiseAbs());
  const double left_out = by_root() ? left_out_ * squared.sum() : 0;
  return 4 * std::numeric_limits<double>::epsilon() * B.dot(inverse.cwiseAbs()) + jitter + left_out;
}

SiteMean DenseKernelSolver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  scale(lambda);
  forget_posterior();
  find_root();
  SiteMean out;
  if (root_serves(lambda) && factorise_by_root()) {
    out = posterior_mean(lambda.cwiseProduct(r));
  } else {
    factor_with_jitter();
    log_det_ = 2 * work_.diagonal().array().log().sum();
    out.alpha = precision_product(r);
    out.mean = apply_prior(out.alpha);
    out.squared_norm = out.alpha.dot(out.mean);
    out.rounding = product_rounding(out.alpha);
  }
  // log|C + 1 / lambda| over the rows that were observed
  double log_det = log_det_;
  Index observed = 0;
  for (Index n = 0; n < rows_; ++n)
    if (lambda[n] > 0) {
      log_det -= 2 * std::log(scale_[n]);
      ++observed;
    }
  log_evidence = -0.5 * (r.dot(out.alpha) + log_det + observed * std::log(2 * M_PI));
  if (by_root()) return out;

  invert_from_cholesky(context_, work_, positive_);
  content_ = Content::inverse;
  // v = noise - noise (C + noise)^-1 noise
  variances_.resize(rows_);
  for (Index n = 0; n < rows_; ++n) {
    const double noise = 1 / lambda[n];
    if (lambda[n] * prior_variances_[n] > small_site) {
      variances_[n] = std::isinf(lambda[n]) ? 0 : noise - noise * noise * scale_[n] * scale_[n] * work_(n, n);
    } else {
      // C_nn - C_n' P C_n
      const Vector Pc =
          scale_.cwiseProduct(symmetric_product(context_, work_, scale_.cwiseProduct(C_.col(n))));
      variances_[n] = C_(n, n) - C_.col(n).dot(Pc);
    }
  }
  return out;
}

Vector DenseKernelSolver::apply_prior(const Vector& x) const {
  if (by_root() || !built_) return root_ * (root_.transpose() * x);
  return symmetric_product(context_, C_, x);
}

Vector DenseKernelSolver::apply_covariance(const Vector& x) const {
  if (content_ == Content::root) return posterior_root_ * (posterior_root_.transpose() * x);
  return symmetric_product(context_, work_, x);
}

// (V o V) x has the rows' sums of H S o H, S = H' diag(x) H.
Vector DenseKernelSolver::apply_squared_covariance(const Vector& x) const {
  if (content_ != Content::root) return squared_symmetric_product(context_, work_, x);
  Matrix S = Matrix::Zero(posterior_root_.cols(), posterior_root_.cols());
  add_weighted_crossproduct(context_.backend, posterior_root_, x, S);
  fill_upper(S);
  Matrix HS(rows_, posterior_root_.cols());
  multiply(context_, false, false, 1.0, posterior_root_, S, 0.0, HS);
  return HS.cwiseProduct(posterior_root_).rowwise().sum();
}

// d' (C o V) d, which is |R' diag(d) H|^2 with roots, H = R L^-T.
double DenseKernelSolver::prior_form(const Vector& d) const {
  if (!by_root()) return d.dot(hadamard_symmetric_product(context_, C_, work_, d));
  Matrix S = Matrix::Zero(root_.cols(), root_.cols());
  add_weighted_crossproduct(context_.backend, root_, d, S);
  fill_upper(S);
  solve_lower(context_, precision_chol_, S);
  return S.squaredNorm();
}

Distance DenseKernelSolver::distance(const Vector& r, const Vector& d) const {
  return {0.5 * (r.dot(apply_prior(r)) + prior_form(d)),
          r.dot(apply_covariance(r)) + 0.5 * d.dot(apply_squared_covariance(d))};
}

Matrix DenseKernelSolver::covariance(const std::vector<Index>& rows) const {
  if (content_ == Content::root) {
    Matrix chosen(static_cast<Index>(rows.size()), posterior_root_.cols());
    for (std::size_t k = 0; k < rows.size(); ++k) chosen.row(static_cast<Index>(k)) = posterior_root_.row(rows[k]);
    return posterior_root_ * chosen.transpose();
  }
  Matrix out(rows_, static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Index n = rows[k];
    out.col(k).head(n) = work_.row(n).head(n).transpose();
    out.col(k).tail(rows_ - n) = work_.col(n).tail(rows_ - n);
  }
  return out;
}

// V <- V - delta / (1 + delta v_n) V_n V_n' for one site after the other (000, eq. 17 to 20 with the sign of
// eq. 19 corrected). A block of sites first updates its own columns, then the rest of V at once by matrix
// products.
void DenseKernelSolver::sweep(const SiteChange& change) {
  store_covariance();
  posterior_root_.resize(rows_, 0);
  build_prior();
  for (Index begin = 0; begin < rows_; begin += rows_per_sweep) {
    context_.monitor.poll();
    const Index count = std::min(rows_per_sweep, rows_ - begin);
    std::vector<Index> block(count);
    std::iota(block.begin(), block.end(), begin);
    Matrix U = covariance(block);
    Vector factor(count);
    for (Index i = 0; i < count; ++i) {
      const Index n = begin + i;
      if (i > 0) U.col(i) -= U.leftCols(i) * factor.head(i).cwiseProduct(U.row(n).head(i).transpose());
      const double v = U(n, i), delta = change(n, v);
      factor[i] = delta / (1 + delta * v);
      log_det_ += std::log1p(delta * v);
      lambda_[n] += delta;
    }
    variances_ -= U.cwiseAbs2() * factor;
    // U diag(factor) U', positive and negative parts apart
    for (const double sign : {1.0, -1.0}) {
      const Vector root = (sign * factor).cwiseMax(0.0).cwiseSqrt();
      if (!(root.maxCoeff() > 0)) continue;
      const Matrix scaled = root.asDiagonal() * U.transpose();
      add_crossproduct(context_, -sign, scaled, 1.0, work_);
    }
  }
}

Matrix DenseKernelSolver::whitened_design() const {
  return root_.cols() > 0 ? root_ : covariance_root(context_, C_);
}

// P = (C + 1 / lambda)^-1 = Lambda - Lambda V Lambda, lower tiles only.
void DenseKernelSolver::posterior_precision_tile(Index row0, Index col0, MatrixRef tile) const {
  const Vector& side = content_ == Content::inverse ? scale_ : lambda_;
  const double sign = content_ == Content::inverse ? 1 : -1;
  for (Index j = 0; j < tile.cols(); ++j)
    for (Index i = 0; i < tile.rows(); ++i) {
      const Index row = std::max(row0 + i, col0 + j), column = std::min(row0 + i, col0 + j);
      tile(i, j) = sign * side[row] * side[column] * work_(row, column);
      if (content_ == Content::covariance && row == column) tile(i, j) += lambda_[row];
    }
}

// d bound / d C = sym(u alpha') + (I - Lambda V) diag(g_v + lambda / 2) (I - V Lambda) - P / 2,
// u = (I - Lambda V)(g - (alpha - Lambda m) / 2); at the optimum u = alpha / 2 and the middle term is zero.
void DenseKernelSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  Vector u = 0.5 * site.alpha;
  if (!site.optimal) {
    const Vector w = site.d_mean - 0.5 * (site.alpha - lambda_.cwiseProduct(site.mean));
    u = w - lambda_.cwiseProduct(apply_covariance(w));
  }
  if (by_root()) return gradient_by_root(site, u, hyper);
  Matrix middle;
  if (!site.optimal) {
    Matrix R = work_.selfadjointView<Eigen::Lower>();  // I - V Lambda
    R = (-R * lambda_.asDiagonal()).eval();
    R.diagonal().array() += 1;
    const Vector D = site.d_variance + 0.5 * lambda_;
    middle.resize(rows_, rows_);
    multiply(context_, true, false, 1.0, R, D.asDiagonal() * R, 0.0, middle);
  }
  Weights G;
  G.tile = [&](Index row0, Index col0, MatrixRef tile) {
    posterior_precision_tile(row0, col0, tile);
    tile *= -0.5;
    tile += 0.5 * (u.segment(row0, tile.rows()) * site.alpha.segment(col0, tile.cols()).transpose() +
                   site.alpha.segment(row0, tile.rows()) * u.segment(col0, tile.cols()).transpose());
    if (middle.size() > 0) tile += middle.block(row0, col0, tile.rows(), tile.cols());
  };
  G.multiply = [&](const Matrix& X) {
    const bool inverse = content_ == Content::inverse;
    Matrix out(rows_, X.cols());
    for (Index j = 0; j < X.cols(); ++j) {
      const Vector x = X.col(j);
      Vector Px =
          inverse ? Vector(scale_.cwiseProduct(symmetric_product(context_, work_, scale_.cwiseProduct(x))))
                  : Vector(lambda_.cwiseProduct(x - apply_covariance(lambda_.cwiseProduct(x))));
      out.col(j) = 0.5 * (u * site.alpha.dot(x) + site.alpha * u.dot(x) - Px);
      if (middle.size() > 0) out.col(j) += middle * x;
    }
    return out;
  };
  prior_->add_covariance_gradient(context_, *design_, G, hyper);
}

// The same by V = H H' and Q = (I - V Lambda) R = R (I + R' Lambda R)^-1, without an N x N matrix:
//   P R = Lambda Q,   R' P R = I - (I + R' Lambda R)^-1.
void DenseKernelSolver::gradient_by_root(const SiteGradient& site, const Vector& u, VectorRef hyper) const {
  const Matrix& H = posterior_root_;
  const Index rank = root_.cols();
  const Vector D = site.optimal ? Vector::Zero(rows_) : Vector(site.d_variance + 0.5 * lambda_);
  const Matrix LH = lambda_.asDiagonal() * H, DH = D.asDiagonal() * H;
  Matrix S = Matrix::Zero(rank, rank);
  add_weighted_crossproduct(context_.backend, H, D, S);
  fill_upper(S);
  S.diagonal().array() += 0.5;
  Matrix LHS(rows_, rank);
  multiply(context_, false, false, 1.0, LH, S, 0.0, LHS);
  Weights G;
  G.tile = [&](Index row0, Index col0, MatrixRef tile) {
    const Index n = tile.rows(), m = tile.cols();
    const auto add = [&](double sign, const Matrix& left, const Matrix& right, double before) {
      context_.backend.multiply(false, true, sign, left.middleRows(row0, n), right.middleRows(col0, m), before, tile);
    };
    add(1, LHS, LH, 0);
    if (!site.optimal) {
      add(-1, DH, LH, 1);
      add(-1, LH, DH, 1);
    }
    for (Index i = std::max(row0, col0); i < std::min(row0 + n, col0 + m); ++i)
      tile(i - row0, i - col0) += D[i] - 0.5 * lambda_[i];
    tile += 0.5 * (u.segment(row0, n) * site.alpha.segment(col0, m).transpose() +
                   site.alpha.segment(row0, n) * u.segment(col0, m).transpose());
  };
  const auto of_mean = [&](const Matrix& X) -> Matrix {
    return u * (0.5 * site.alpha.transpose() * X) + site.alpha * (0.5 * u.transpose() * X);
  };
  const auto add_middle = [&](Matrix Q, Matrix& out) {  // (I - Lambda V) D Q
    Q = (D.asDiagonal() * Q).eval();
    Matrix within(rank, Q.cols());
    multiply(context_, true, false, 1.0, H, Q, 0.0, within);
    out += Q;
    multiply(context_, false, false, -1.0, LH, within, 1.0, out);
  };
  G.multiply = [&](const Matrix& X) {
    Matrix within(rank, X.cols()), Q = X;
    multiply(context_, true, false, 1.0, LH, X, 0.0, within);
    multiply(context_, false, false, -1.0, H, within, 1.0, Q);
    Matrix out = of_mean(X);
    out -= 0.5 * lambda_.asDiagonal() * Q;
    if (!site.optimal) add_middle(std::move(Q), out);
    return out;
  };

  Matrix Q = H.transpose(), inverse = Matrix::Identity(rank, rank);
  solve_lower_transposed(context_, precision_chol_, Q);
  Q.transposeInPlace();
  solve_lower(context_, precision_chol_, inverse);
  RootWeights weights{G, of_mean(root_), Matrix::Zero(rank, rank)};
  weights.product -= 0.5 * lambda_.asDiagonal() * Q;
  add_crossproduct(context_, 0.5, inverse, 0.0, weights.form);
  if (!site.optimal) {
    add_weighted_crossproduct(context_.backend, Q, D, weights.form);
    add_middle(std::move(Q), weights.product);
  }
  fill_upper(weights.form);
  weights.form.diagonal().array() -= 0.5;
  const Vector Ru = root_.transpose() * u, Ra = root_.transpose() * site.alpha;
  weights.form += 0.5 * (Ru * Ra.transpose() + Ra * Ru.transpose());
  prior_->add_root_gradient(context_, *design_, roots_, weights, hyper);
}

SolverState DenseKernelSolver::state(const SiteMean& site_mean, bool keep_factor) {
  SolverState out;
  out.alpha = site_mean.alpha;
  out.lambda = lambda_;
  if (keep_factor) {
    build_prior();
    out.factor.resize(rows_, rows_);
    factor_scaled(C_, out.factor);
  }
  return out;
}

// L^-1 T K, rows in the order of B.
Matrix DenseKernelSolver::whiten(const Matrix& factor, Matrix K) const {
  Matrix X(rows_, K.cols());
  for (Index i = 0; i < rows_; ++i) X.row(i) = scale_[order_[i]] * K.row(order_[i]);
  solve_lower(context_, factor, X);
  return X;
}

namespace {

// X' J Y for whitened X, Y whose last rows carry the sign -1.
Matrix signed_crossproduct(const Matrix& X, Index positive) {
  Matrix out = X.topRows(positive).transpose() * X.topRows(positive);
  out -= X.bottomRows(X.rows() - positive).transpose() * X.bottomRows(X.rows() - positive);
  return out;
}

// Are there observations without noise?
bool exact(const Vector& lambda) { return (lambda.array() == infinity).any(); }

Vector signed_squares(const Matrix& X, Index positive) {
  return (X.topRows(positive).colwise().squaredNorm() -
          X.bottomRows(X.rows() - positive).colwise().squaredNorm())
      .transpose();
}

}  // namespace

std::vector<Coefficients> DenseKernelSolver::coefficients(const SolverState& state) {
  constexpr double wide = 1e6;  // data precision over prior precision: a subtraction loses six digits
  std::vector<Coefficients> out;
  bool ready = false;
  double width = 0;
  for (Index t = 0; t < prior_->size(); ++t) {
    const Term& term = (*prior_)[t];
    const Index q = term.columns();
    if (q == 0) continue;
    const Vector& variance = term.coefficient_variance();
    Coefficients c;
    c.label = term.label();
    // S W' alpha, and S - S W' P W S
    Matrix WS(rows_, q);
    term.fill((*design_)[t], 0, WS);
    width = std::max(width, (state.lambda.cwiseAbs().transpose() * WS.cwiseAbs2()).maxCoeff());
    WS *= variance.cwiseSqrt().asDiagonal();
    c.mean = term.coefficient_mean() + WS.transpose() * state.alpha;
    Matrix PWS(rows_, q);
    if (content_ != Content::nothing && content_ != Content::factor) {
      const Vector& side = content_ == Content::inverse ? scale_ : lambda_;
      for (Index j = 0; j < q; ++j) {
        const Vector x = WS.col(j).cwiseProduct(side);
        const Vector Mx = side.cwiseProduct(apply_covariance(x));
        PWS.col(j) = content_ == Content::inverse ? Mx : Vector(x - Mx);
      }
    } else {
      if (!ready) {
        scale(state.lambda);
        forget_posterior();
        factor_with_jitter();
        content_ = Content::factor;
        ready = true;
      }
      PWS = precision_product(WS);
    }
    c.covariance = -(WS.transpose() * PWS);
    c.covariance.diagonal() += variance;
    out.push_back(std::move(c));
  }
  if (width > wide || exact(state.lambda)) refine(state, out);
  return out;
}

// With K the covariance of all terms that are not columns alone, P_K = (K + 1 / lambda)^-1 and a_K = (I +
// Lambda K)^-1 b, or P_K f without noise, where b is infinite, the coefficients have the covariance
// (S^-1 + W' P_K W)^-1, and this times W' a_K is their distance from the prior means. Nothing as large as S is
// subtracted. Where K has no factor, the values computed so far stay.
void DenseKernelSolver::refine(const SolverState& state, std::vector<Coefficients>& coefficients) {
  // a field's columns stay with its nodes in K
  const auto is_columns = [](const Term& term) { return term.columns() > 0 && !term.field(); };
  Index size = 0;
  for (const auto& term : *prior_)
    if (is_columns(*term)) size += term->columns();
  Matrix W(rows_, size);  // whitened: W S^(1/2)
  Vector sd(size), prior_mean(size);
  forget_posterior();
  build_prior();
  work_.setZero(rows_, rows_);
  Index at = 0;
  for (Index t = 0; t < prior_->size(); ++t) {
    const Term& term = (*prior_)[t];
    if (!is_columns(term)) {
      term.add_covariance(context_, (*design_)[t], work_);
      continue;
    }
    const Index q = term.columns();
    sd.segment(at, q) = term.coefficient_variance().cwiseSqrt();
    prior_mean.segment(at, q) = term.coefficient_mean();
    term.fill((*design_)[t], 0, W.middleCols(at, q));
    at += q;
  }
  work_.diagonal().array() += jitter_;
  fill_upper(work_);
  const Vector f = apply_prior(state.alpha);
  const bool noiseless = exact(state.lambda);
  const Vector b = noiseless ? Vector() : Vector(state.alpha + state.lambda.cwiseProduct(f));
  const Vector Kb = noiseless ? Vector() : symmetric_product(context_, work_, b);
  scale(state.lambda);
  const Matrix K = in_natural_order(order_) ? Matrix() : work_;
  if (!factor_scaled(K.size() > 0 ? K : work_, work_)) return;
  Matrix A = W.transpose() * precision_product(W);
  A.diagonal().array() += 1;
  if (!cholesky(context_, A)) return;
  const Vector a = noiseless ? Vector(precision_product(f)) : Vector(b - precision_product(Kb));
  Matrix inverse = Matrix::Identity(size, size);
  solve_lower(context_, A, inverse);
  const Matrix root = inverse * sd.asDiagonal();  // the covariance is root' root
  const Vector mean = prior_mean + root.transpose() * (inverse * (W.transpose() * a));
  at = 0;
  auto next = coefficients.begin();
  for (const auto& term : *prior_) {
    if (term->columns() == 0) continue;
    Coefficients& c = *next++;
    if (!is_columns(*term)) continue;
    const auto own = root.middleCols(at, c.mean.size());
    c.covariance = own.transpose() * own;
    c.mean = mean.segment(at, c.mean.size());
    at += c.mean.size();
  }
}

Conditional DenseKernelSolver::conditional(const SolverState& state, const DesignRows& others,
                                           const ConditionalRequest& request) {
  const bool factored = request.variance || request.covariance;
  if (factored) scale(state.lambda);
  const Matrix* factor = &state.factor;
  if (factored && state.factor.size() == 0) {
    if (content_ != Content::factor) {
      forget_posterior();
      factor_with_jitter();
      content_ = Content::factor;
    }
    factor = &work_;
  }
  const Index T = prior_->size(), b = others.size();
  Conditional out;
  out.mean = prior_->mean(others);
  out.variance = Vector::Zero(b);
  if (request.terms) {
    out.term_mean = Matrix::Zero(b, T);
    out.term_variance = Matrix::Zero(b, T);
  }
  Matrix K = Matrix::Zero(rows_, b);
  for (Index t = 0; t < T; ++t) {
    const Term& term = (*prior_)[t];
    if (!request.terms) {
      term.add_cross(context_, (*design_)[t], others[t], K);
      continue;
    }
    Matrix cross = Matrix::Zero(rows_, b);
    term.add_cross(context_, (*design_)[t], others[t], cross);
    K += cross;
    Vector mean = cross.transpose() * state.alpha;
    term.add_prior_mean(others[t], 0, mean);
    out.term_mean.col(t) = mean;
    if (!factored) continue;
    Vector variance = Vector::Zero(b);
    term.add_variances(context_, others[t], variance);
    out.term_variance.col(t) =
        (variance - signed_squares(whiten(*factor, std::move(cross)), positive_)).cwiseMax(0.0);
  }
  out.mean += K.transpose() * state.alpha;
  if (!factored) return out;
  const Matrix X = whiten(*factor, std::move(K));
  prior_->add_variances(context_, others, out.variance);
  out.variance = (out.variance - signed_squares(X, positive_)).cwiseMax(0.0);
  if (request.covariance) {
    out.covariance = Matrix::Zero(b, b);
    prior_->add_covariance(context_, others, out.covariance);
    fill_upper(out.covariance);
    out.covariance -= signed_crossproduct(X, positive_);
  }
  return out;
}

}  // namespace galvi
