#include "prior/inducing_term.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/dense.h"
#include "prior/centre.h"

namespace galvi {

namespace {

// A point is kept if the points before it leave at least this part of the largest variance unexplained. L is
// then so well conditioned that its inverse may be formed explicitly: a product with it is twice as fast as a
// solve.
constexpr double least_pivot = 1e-11;

constexpr Index centre_rows = 256;  // that are seen at a time

Matrix inputs_at(const KernelRows& rows, Index begin, const std::vector<Index>& at) {
  Matrix out(static_cast<Index>(at.size()), rows.inputs.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = rows.inputs.row(begin + at[i]);
  return out;
}

}  // namespace

InducingTerm::InducingTerm(const TermSpec& spec, const Backend& backend)
    : LowRankTerm(spec.label),
      kernels_(make_kernels(spec.kernels)),
      bases_(kernels_.size()),
      spec_(spec.inducing),
      centre_(normalised(spec.centre, spec.label, spec.inducing.coordinates.cols())),
      groups_(spec.inducing.groups),
      backend_(backend) {
  const Index p = spec_.coordinates.cols();
  if (spec_.centre.size() != p || spec_.scale.size() != p)
    throw std::invalid_argument("term " + label() + ": inducing points and their scales differ in columns");
  if (kernels_.size() != 1 && static_cast<Index>(kernels_.size()) != groups_)
    throw std::invalid_argument("term " + label() + ": needs a kernel, or one for each group");
  if (groups_of(centre_) > groups_)
    throw std::invalid_argument("term " + label() + ": the rows of its mean have more groups than the term");
  coefficient_mean_ = Vector::Zero(groups_ * points());
  coefficient_variance_ = Vector::Ones(groups_ * points());
}

void InducingTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), spec_.coordinates.cols());
  if (groups_ > 1) check_groups(rows, groups_);
  if (centred()) check_unscaled(rows);
}

void InducingTerm::update(const ConstVectorRef& hyper) {
  hypers_ = hyper.size();
  Matrix Z(points(), spec_.centre.size());
  for (Index j = 0; j < Z.cols(); ++j)
    for (Index m = 0; m < Z.rows(); ++m)
      Z(m, j) = spec_.centre[j] + spec_.scale[j] * hyper[spec_.coordinates(m, j)];
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    Basis& basis = bases_[k];
    kernels_[k]->update(hyper);
    Matrix K(points(), points());
    kernels_[k]->value(Z, Z, K);
    K.diagonal().array() += spec_.jitter;
    if (held_ && !basis.kept.empty())
      factorise_held(basis, K);
    else
      basis.kept = pivoted_cholesky(K, least_pivot, &basis.left_out);
    const Index rank = static_cast<Index>(basis.kept.size());
    basis.inverse_chol = K.topLeftCorner(rank, rank).triangularView<Eigen::Lower>();
    if (rank > 0) backend_.invert(basis.inverse_chol);
    basis.Z.resize(rank, Z.cols());
    for (Index m = 0; m < rank; ++m) basis.Z.row(m) = Z.row(basis.kept[m]);
  }
  if (centred()) find_means();
}

// w = L^-1 sum_r a_r k_r of each group
void InducingTerm::find_means() {
  means_.clear();
  for (Index group = 0; group < groups_; ++group) {
    const Basis& basis = bases_[kernel_of(group)];
    const std::vector<Index> at = rows_of_group(centre_.rows, group);
    Vector sum = Vector::Zero(basis.rank());
    for (std::size_t begin = 0; begin < at.size(); begin += centre_rows) {
      const std::vector<Index> own(at.begin() + begin, at.begin() + std::min(at.size(), begin + centre_rows));
      Matrix K(static_cast<Index>(own.size()), basis.rank());
      kernels_[kernel_of(group)]->value(inputs_at(centre_.rows, 0, own), basis.Z, K);
      sum.noalias() += K.transpose() * weights_at(centre_, own);
    }
    means_.push_back(basis.inverse_chol.triangularView<Eigen::Lower>() * sum);
  }
}

// The points keep their order. Points left out so far are appended as soon as they are informative, which
// moves no existing column.
void InducingTerm::factorise_held(Basis& basis, Matrix& K) const {
  const std::size_t held = basis.kept.size();
  std::vector<Index> order = basis.kept;
  order.insert(order.end(), basis.left_out.begin(), basis.left_out.end());
  const auto count = static_cast<Index>(basis.left_out.empty() ? held : order.size());
  Matrix ordered(count, count);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < count; ++i) ordered(i, j) = K(order[i], order[j]);
  bool fits = true;
  if (basis.left_out.empty()) {
    const double least = 0.01 * least_pivot * ordered.diagonal().maxCoeff();
    fits = backend_.cholesky(ordered) && (ordered.diagonal().array().square() > least).all();
  } else {
    std::vector<Index> rest;
    const std::vector<Index> found =
        pivoted_cholesky(ordered, least_pivot, &rest, nullptr, static_cast<Index>(held));
    fits = found.size() >= held;
    if (fits) {
      basis.kept.clear();
      basis.left_out.clear();
      for (const Index i : found) basis.kept.push_back(order[i]);
      for (const Index i : rest) basis.left_out.push_back(order[i]);
    }
  }
  if (!fits) throw std::domain_error("inducing points came too close to each other");
  K = std::move(ordered);
}

template <class F>
void InducingTerm::for_kernels(const KernelRows& rows, Index begin, Index n, const F& visit) const {
  std::vector<std::vector<Index>> at(kernels_.size());
  for (Index i = 0; i < n; ++i) at[kernels_.size() > 1 ? rows.group[begin + i] - 1 : 0].push_back(i);
  for (std::size_t k = 0; k < kernels_.size(); ++k)
    if (!at[k].empty()) visit(k, at[k]);
}

// W = K_nz L^-T, less the mean of the row's group
void InducingTerm::fill(const TermRows& all, Index begin, MatrixRef W) const {
  const KernelRows& rows = all.kernel;
  const Index n = W.rows();
  if (left_out(all)) {
    W.setZero();
    return;
  }
  const auto whiten = [&](std::size_t k, const ConstMatrixRef& inputs, MatrixRef K) {
    kernels_[k]->value(inputs, bases_[k].Z, K);
    backend_.triangular_multiply(false, true, 1.0, bases_[k].inverse_chol, K);
  };
  if (groups_ == 1) {
    const Index rank = bases_[0].rank();
    whiten(0, rows.inputs.middleRows(begin, n), W.leftCols(rank));
    W.rightCols(W.cols() - rank).setZero();
  } else {
    W.setZero();
    for_kernels(rows, begin, n, [&](std::size_t k, const std::vector<Index>& at) {
      const Index rank = bases_[k].rank();
      Matrix own(static_cast<Index>(at.size()), rank);
      whiten(k, inputs_at(rows, begin, at), own);
      for (Index i = 0; i < own.rows(); ++i)
        W.row(at[i]).segment(first_column(rows, begin + at[i]), rank) = own.row(i);
    });
  }
  if (rows.by.size() > 0) W.array().colwise() *= rows.by.segment(begin, n).array();
  if (!centred()) return;
  if (groups_ == 1) W.leftCols(means_[0].size()).rowwise() -= means_[0].transpose();
  // rows that a centred process leaves out
  for (Index i = 0; rows.by.size() > 0 && i < n; ++i)
    if (rows.by[begin + i] == 0) W.row(i).setZero();
  for (Index i = 0; groups_ > 1 && i < n; ++i) {
    if (rows.by.size() > 0 && rows.by[begin + i] == 0) continue;
    const Vector& mean = means_[group_of_row(rows, begin + i)];
    W.row(i).segment(first_column(rows, begin + i), mean.size()) -= mean.transpose();
  }
}

// c_n = k_nn - |w_n|^2
void InducingTerm::add_extra_variances(const TermRows& all, Index begin, const ConstMatrixRef& W,
                                       VectorRef c) const {
  const KernelRows& rows = all.kernel;
  const Index n = W.rows();
  if (left_out(all)) return;
  Vector variance(n);
  for_kernels(rows, begin, n, [&](std::size_t k, const std::vector<Index>& at) {
    Vector own(static_cast<Index>(at.size()));
    kernels_[k]->diagonal(inputs_at(rows, begin, at), own);
    for (Index i = 0; i < own.size(); ++i) variance[at[i]] = own[i];
  });
  if (rows.by.size() > 0) variance.array() *= rows.by.segment(begin, n).array().square();
  Vector known = W.rowwise().squaredNorm();
  if (centred() && groups_ == 1) {
    // |w_n|^2 from w_n - w
    known += 2 * (W.leftCols(means_[0].size()) * means_[0]);
    known.array() += means_[0].squaredNorm();
  }
  for (Index i = 0; centred() && groups_ > 1 && i < n; ++i) {
    const Vector& mean = means_[group_of_row(rows, begin + i)];
    known[i] += mean.dot(2 * W.row(i).segment(first_column(rows, begin + i), mean.size()).transpose() + mean);
  }
  c += (variance - known).cwiseMax(0.0);
}

// L L' = K gives L^-1 dL = Phi(L^-1 dK L^-T), where Phi keeps the lower triangle and half of the diagonal,
// and W L' = K_nz gives
//   dW = dK_nz L^-T - W Phi(L^-1 dK L^-T)',   dc_n = dk_nn - 2 w_n' dw_n.
// With S = G - 2 diag(g) W, which includes the effect of W through c, and < , > the sum of products of
// entries,
//   d bound = <S, dW> + <g, dk_nn> = <S L^-1, dK_nz> - <L^-T Phi(S'W) L^-1, dK> + <g, dk_nn>.
// The sums are: through the kernel of rows, by hyperparameter; then for each kernel, through K_nz, by point
// (r x p), and S'W (r x r). With a centre, the gradient of a group's w = sum_r a_r w_r is minus the sum of its rows of
// G; these are the last sums. The rows of the centre then have S_r = a_r times that, and no c.
Index InducingTerm::means_size() const {
  Index size = 0;
  for (const Vector& mean : means_) size += mean.size();
  return size;
}

Index InducingTerm::gradient_size() const {
  Index size = hypers_ + means_size();
  for (const Basis& basis : bases_) size += basis.numbers();
  return size;
}

void InducingTerm::add_gradient(const TermRows& all, Index begin, const ConstMatrixRef& W,
                                const ConstMatrixRef& G, const ConstVectorRef& g, VectorRef sums) const {
  const KernelRows& rows = all.kernel;
  std::vector<Index> first = {hypers_};
  for (const Basis& basis : bases_) first.push_back(first.back() + basis.numbers());
  std::vector<Index> of_means = {first.back()};
  for (const Vector& mean : means_) of_means.push_back(of_means.back() + mean.size());
  for_kernels(rows, begin, W.rows(), [&](std::size_t k, const std::vector<Index>& at) {
    const Basis& basis = bases_[k];
    const Index n = static_cast<Index>(at.size()), rank = basis.rank();
    Matrix own(n, rank), S(n, rank);
    Vector own_g(n), by = Vector::Ones(n);
    for (Index i = 0; i < n; ++i) {
      const Index column = first_column(rows, begin + at[i]);
      own.row(i) = W.row(at[i]).segment(column, rank);
      S.row(i) = G.row(at[i]).segment(column, rank);
      own_g[i] = g[at[i]];
      if (rows.by.size() > 0) by[i] = rows.by[begin + at[i]];
      // as at centred rows that are left out
      if (by[i] == 0) {
        S.row(i).setZero();
        own_g[i] = 0;
      }
    }
    if (centred() && groups_ == 1) {
      sums.segment(of_means[0], rank) -= S.colwise().sum().transpose();
      own.rowwise() += means_[0].transpose();
    }
    for (Index i = 0; centred() && groups_ > 1 && i < n; ++i) {
      const Index group = group_of_row(rows, begin + at[i]);
      sums.segment(of_means[group], rank) -= S.row(i).transpose();
      own.row(i) += means_[group].transpose();
    }
    S -= (2 * own_g).asDiagonal() * own;
    Eigen::Map<Matrix> products(sums.data() + first[k] + basis.Z.size(), rank, rank);
    backend_.multiply(true, false, 1.0, S, own, 1.0, products);
    backend_.triangular_multiply(false, false, 1.0, basis.inverse_chol, S);
    S.array().colwise() *= by.array();
    own_g.array() *= by.array().square();
    const Matrix inputs = inputs_at(rows, begin, at);
    Matrix points = Matrix::Zero(rank, basis.Z.cols());
    kernels_[k]->gradient(inputs, basis.Z, S, sums.head(hypers_), &points);
    kernels_[k]->diagonal_gradient(inputs, own_g, sums.head(hypers_));
    Eigen::Map<Matrix>(sums.data() + first[k], rank, basis.Z.cols()) += points;
  });
}

void InducingTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  hyper += sums.head(hypers_);
  Index first = hypers_, of_means = sums.size() - means_size(), group = 0;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const Basis& basis = bases_[k];
    const Index rank = basis.rank();
    Matrix points = Eigen::Map<const Matrix>(sums.data() + first, rank, basis.Z.cols());
    Matrix products = Eigen::Map<const Matrix>(sums.data() + first + points.size(), rank, rank);
    first += basis.numbers();
    for (; group < static_cast<Index>(means_.size()) && kernel_of(group) == static_cast<Index>(k); ++group) {
      const auto h = sums.segment(of_means, rank);
      products += h * means_[group].transpose();
      add_mean_gradient(group, basis.inverse_chol.transpose().triangularView<Eigen::Upper>() * h, points, hyper);
      of_means += rank;
    }
    Matrix P = products.triangularView<Eigen::Lower>();
    P.diagonal() *= 0.5;
    P = (basis.inverse_chol.transpose() * P * basis.inverse_chol).eval();
    const Matrix G = -0.5 * (P + P.transpose());
    // a point is on both sides of K, and kernel and G are symmetric
    Matrix in_pairs = Matrix::Zero(points.rows(), points.cols());
    kernels_[k]->gradient(basis.Z, basis.Z, G, hyper, &in_pairs);
    for (Index j = 0; j < points.cols(); ++j)
      for (Index m = 0; m < points.rows(); ++m)
        hyper[spec_.coordinates(basis.kept[m], j)] += spec_.scale[j] * (points(m, j) + 2 * in_pairs(m, j));
  }
}

// <S L^-1, dK_rz> over the rows of a group's centre, where S_r L^-1 = a_r h'
void InducingTerm::add_mean_gradient(Index group, const Vector& h, Matrix& points, VectorRef hyper) const {
  const std::vector<Index> at = rows_of_group(centre_.rows, group);
  for (std::size_t begin = 0; begin < at.size(); begin += centre_rows) {
    const std::vector<Index> own(at.begin() + begin, at.begin() + std::min(at.size(), begin + centre_rows));
    kernels_[kernel_of(group)]->gradient(inputs_at(centre_.rows, 0, own), bases_[kernel_of(group)].Z,
                                         weights_at(centre_, own) * h.transpose(), hyper, &points);
  }
}

// u_old = L_o^-1 f(Z_o), and f(Z_o) = W_o u + what the present points leave unexplained there.
bool InducingTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const InducingTerm*>(&old);
  if (!before || before->groups_ != groups_ || before->kernels_.size() != kernels_.size() ||
      before->spec_.centre.size() != spec_.centre.size())
    return false;
  const Index M = points(), M_old = before->points();
  B = Matrix::Zero(before->columns(), columns());
  left = Matrix::Zero(before->columns(), before->columns());
  shift = Vector::Zero(before->columns());
  const Index shared = kernels_.size() > 1 ? 1 : groups_;  // how many groups have a kernel
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const Basis &now = bases_[k], &then = before->bases_[k];
    Matrix W(then.rank(), now.rank()), K(then.rank(), then.rank());
    kernels_[k]->value(then.Z, now.Z, W);
    backend_.triangular_multiply(false, true, 1.0, now.inverse_chol, W);
    kernels_[k]->value(then.Z, then.Z, K);
    K -= W * W.transpose();
    const auto L_inverse = then.inverse_chol.triangularView<Eigen::Lower>();
    const Matrix own = L_inverse * W;
    const Matrix open = L_inverse * Matrix(K * then.inverse_chol.transpose().triangularView<Eigen::Upper>());
    for (Index g = static_cast<Index>(k); g < static_cast<Index>(k) + shared; ++g) {
      B.block(g * M_old, g * M, then.rank(), now.rank()) = own;
      left.block(g * M_old, g * M_old, then.rank(), then.rank()) = open;
    }
  }
  return true;
}

Matrix InducingTerm::centre_columns() const {
  Matrix out = Matrix::Zero(columns(), groups_);
  for (Index group = 0; group < static_cast<Index>(means_.size()); ++group)
    out.col(group).segment(group * points(), means_[group].size()) = means_[group];
  return out;
}

}  // namespace galvi
