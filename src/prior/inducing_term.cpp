#include "prior/inducing_term.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

namespace {

// A point is kept if the points before it leave at least this part of the largest variance unexplained. L is
// then so well conditioned that its inverse may be formed explicitly: a product with it is twice as fast as a
// solve.
constexpr double least_pivot = 1e-11;

}  // namespace

InducingTerm::InducingTerm(const TermSpec& spec, const Backend& backend)
    : Term(spec.label),
      kernel_(make_kernel(spec.kernel)),
      spec_(spec.inducing),
      groups_(spec.inducing.groups),
      backend_(backend) {
  const Index p = spec_.coordinates.cols();
  if (spec_.centre.size() != p || spec_.scale.size() != p)
    throw std::invalid_argument("term " + label() + ": inducing points and their scales differ in columns");
  coefficient_mean_ = Vector::Zero(groups_ * points());
  coefficient_variance_ = Vector::Ones(groups_ * points());
}

void InducingTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), spec_.coordinates.cols());
  if (groups_ > 1 && rows.kernel.group.size() != rows.kernel.inputs.rows())
    throw std::invalid_argument("term " + label() + ": every row needs a group");
}

void InducingTerm::update(const ConstVectorRef& hyper) {
  kernel_->update(hyper);
  hypers_ = hyper.size();
  Matrix Z(points(), spec_.centre.size());
  for (Index j = 0; j < Z.cols(); ++j)
    for (Index m = 0; m < Z.rows(); ++m)
      Z(m, j) = spec_.centre[j] + spec_.scale[j] * hyper[spec_.coordinates(m, j)];
  Matrix K(points(), points());
  kernel_->value(Z, Z, K);
  K.diagonal().array() += spec_.jitter;
  if (held_ && !kept_.empty())
    factorise_held(K);
  else
    kept_ = pivoted_cholesky(K, least_pivot, &left_out_);
  const Index rank = static_cast<Index>(kept_.size());
  inverse_chol_ = K.topLeftCorner(rank, rank).triangularView<Eigen::Lower>();
  if (rank > 0) backend_.invert(inverse_chol_);
  Z_.resize(rank, Z.cols());
  for (Index m = 0; m < rank; ++m) Z_.row(m) = Z.row(kept_[m]);
}

// The points keep their order. Points left out so far are appended as soon as they are informative, which
// moves no existing column.
void InducingTerm::factorise_held(Matrix& K) {
  const std::size_t held = kept_.size();
  std::vector<Index> order = kept_;
  order.insert(order.end(), left_out_.begin(), left_out_.end());
  const auto count = static_cast<Index>(left_out_.empty() ? held : order.size());
  Matrix ordered(count, count);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < count; ++i) ordered(i, j) = K(order[i], order[j]);
  bool fits = true;
  if (left_out_.empty()) {
    const double least = 0.01 * least_pivot * ordered.diagonal().maxCoeff();
    fits = backend_.cholesky(ordered) && (ordered.diagonal().array().square() > least).all();
  } else {
    std::vector<Index> rest;
    const std::vector<Index> found =
        pivoted_cholesky(ordered, least_pivot, &rest, nullptr, static_cast<Index>(held));
    fits = found.size() >= held;
    if (fits) {
      kept_.clear();
      left_out_.clear();
      for (const Index i : found) kept_.push_back(order[i]);
      for (const Index i : rest) left_out_.push_back(order[i]);
    }
  }
  if (!fits) throw std::domain_error("inducing points came too close to each other");
  K = std::move(ordered);
}

// W = K_nz L^-T
void InducingTerm::fill(const TermRows& all, Index begin, MatrixRef W) const {
  const KernelRows& rows = all.kernel;
  const Index n = W.rows(), rank = Z_.rows();
  const auto inputs = rows.inputs.middleRows(begin, n);
  const auto whiten = [&](MatrixRef K) {
    kernel_->value(inputs, Z_, K);
    if (rows.by.size() > 0) K.array().colwise() *= rows.by.segment(begin, n).array();
    backend_.triangular_multiply(false, true, 1.0, inverse_chol_, K);
  };
  if (groups_ == 1) {
    whiten(W.leftCols(rank));
    W.rightCols(W.cols() - rank).setZero();
    return;
  }
  Matrix own(n, rank);
  whiten(own);
  W.setZero();
  for (Index i = 0; i < n; ++i) W.row(i).segment(first_column(rows, begin + i), rank) = own.row(i);
}

// c_n = k_nn - |w_n|^2
void InducingTerm::add_extra_variances(const TermRows& all, Index begin, const ConstMatrixRef& W,
                                       VectorRef c) const {
  const KernelRows& rows = all.kernel;
  const Index n = W.rows();
  Vector variance(n);
  kernel_->diagonal(rows.inputs.middleRows(begin, n), variance);
  if (rows.by.size() > 0) variance.array() *= rows.by.segment(begin, n).array().square();
  c += (variance - W.rowwise().squaredNorm()).cwiseMax(0.0);
}

// L L' = K gives L^-1 dL = Phi(L^-1 dK L^-T), where Phi keeps the lower triangle and half of the diagonal,
// and W L' = K_nz gives
//   dW = dK_nz L^-T - W Phi(L^-1 dK L^-T)',   dc_n = dk_nn - 2 w_n' dw_n.
// With S = G - 2 diag(g) W, which includes the effect of W through c, and < , > the sum of products of
// entries,
//   d bound = <S, dW> + <g, dk_nn> = <S L^-1, dK_nz> - <L^-T Phi(S'W) L^-1, dK> + <g, dk_nn>.
// The sums are: through the kernel of rows, by hyperparameter; through K_nz, by point (r x p); S'W (r x r).
Index InducingTerm::gradient_size() const { return hypers_ + Z_.size() + Z_.rows() * Z_.rows(); }

void InducingTerm::add_gradient(const TermRows& all, Index begin, const ConstMatrixRef& W,
                                const ConstMatrixRef& G, const ConstVectorRef& g, VectorRef sums) const {
  const KernelRows& rows = all.kernel;
  const Index n = W.rows(), rank = Z_.rows();
  Matrix own(n, rank), S(n, rank);
  for (Index i = 0; i < n; ++i) {
    const Index at = first_column(rows, begin + i);
    own.row(i) = W.row(i).segment(at, rank);
    S.row(i) = G.row(i).segment(at, rank);
  }
  S -= (2 * g).asDiagonal() * own;
  Eigen::Map<Matrix> products(sums.data() + hypers_ + Z_.size(), rank, rank);
  backend_.multiply(true, false, 1.0, S, own, 1.0, products);
  backend_.triangular_multiply(false, false, 1.0, inverse_chol_, S);
  Vector own_g = g;
  if (rows.by.size() > 0) {
    const auto by = rows.by.segment(begin, n).array();
    S.array().colwise() *= by;
    own_g.array() *= by.square();
  }
  const auto inputs = rows.inputs.middleRows(begin, n);
  Matrix points = Matrix::Zero(rank, Z_.cols());
  kernel_->gradient(inputs, Z_, S, sums.head(hypers_), &points);
  kernel_->diagonal_gradient(inputs, own_g, sums.head(hypers_));
  Eigen::Map<Matrix>(sums.data() + hypers_, rank, Z_.cols()) += points;
}

void InducingTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  const Index rank = Z_.rows();
  const Eigen::Map<const Matrix> points(sums.data() + hypers_, rank, Z_.cols()),
      products(points.data() + points.size(), rank, rank);
  Matrix P = products.triangularView<Eigen::Lower>();
  P.diagonal() *= 0.5;
  P = (inverse_chol_.transpose() * P * inverse_chol_).eval();
  const Matrix G = -0.5 * (P + P.transpose());
  // a point is on both sides of K, and kernel and G are symmetric
  Matrix in_pairs = Matrix::Zero(points.rows(), points.cols());
  hyper += sums.head(hypers_);
  kernel_->gradient(Z_, Z_, G, hyper, &in_pairs);
  for (Index j = 0; j < points.cols(); ++j)
    for (Index m = 0; m < points.rows(); ++m)
      hyper[spec_.coordinates(kept_[m], j)] += spec_.scale[j] * (points(m, j) + 2 * in_pairs(m, j));
}

// u_old = L_o^-1 f(Z_o), and f(Z_o) = W_o u + what the present points leave unexplained there.
bool InducingTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const InducingTerm*>(&old);
  if (!before || before->groups_ != groups_ || before->Z_.cols() != Z_.cols()) return false;
  const Index M = points(), M_old = before->points(), rank = Z_.rows(), rank_old = before->Z_.rows();
  Matrix W(rank_old, rank), K(rank_old, rank_old);
  kernel_->value(before->Z_, Z_, W);
  backend_.triangular_multiply(false, true, 1.0, inverse_chol_, W);
  kernel_->value(before->Z_, before->Z_, K);
  K -= W * W.transpose();
  const auto L_inverse = before->inverse_chol_.triangularView<Eigen::Lower>();
  const Matrix own = L_inverse * W;
  const Matrix open = L_inverse * Matrix(K * before->inverse_chol_.transpose().triangularView<Eigen::Upper>());
  B = Matrix::Zero(before->columns(), columns());
  left = Matrix::Zero(before->columns(), before->columns());
  shift = Vector::Zero(before->columns());
  for (Index g = 0; g < groups_; ++g) {
    B.block(g * M_old, g * M, rank_old, rank) = own;
    left.block(g * M_old, g * M_old, rank_old, rank_old) = open;
  }
  return true;
}

// ---- as a covariance, W W' + diag(c) ----

Matrix InducingTerm::columns_of(const TermRows& rows) const {
  Matrix W(rows.kernel.inputs.rows(), columns());
  fill(rows, 0, W);
  return W;
}

void InducingTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  const Matrix W = columns_of(rows);
  add_crossproduct(context, 1.0, W.transpose(), 1.0, K);
  Vector c = Vector::Zero(W.rows());
  add_extra_variances(rows, 0, W, c);
  K.diagonal() += c;
}

void InducingTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others,
                             MatrixRef K) const {
  multiply(context, false, true, 1.0, columns_of(rows), columns_of(others), 1.0, K);
}

void InducingTerm::add_covariance_gradient(Context&, const TermRows& rows, const Weights& G,
                                           VectorRef hyper) const {
  constexpr Index block = 64;
  const Matrix W = columns_of(rows);
  Vector g(W.rows());
  for (Index begin = 0; begin < W.rows(); begin += block) {
    Matrix tile(std::min(block, W.rows() - begin), std::min(block, W.rows() - begin));
    G.tile(begin, begin, tile);
    g.segment(begin, tile.rows()) = tile.diagonal();
  }
  Vector sums = Vector::Zero(gradient_size());
  add_gradient(rows, 0, W, 2 * G.multiply(W), g, sums);
  finish_gradient(sums, hyper);
}

}  // namespace galvi
