#include "prior/field_term.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

namespace {

constexpr Index tile_rows = 256;

// row i of W times x
template <class X>
double row_times(const SparseRows& W, Index i, const X& x) {
  double out = 0;
  for (SparseRows::InnerIterator w(W, i); w; ++w) out += w.value() * x[w.col()];
  return out;
}

// K (lower triangle) += A S A' for a symmetric S
void add_quadratic(const SparseRows& A, const Matrix& S, MatrixRef K) {
  for (Index j = 0; j < A.rows(); ++j) {
    Vector column = Vector::Zero(S.rows());
    for (SparseRows::InnerIterator w(A, j); w; ++w) column += w.value() * S.col(w.col());
    for (Index i = j; i < A.rows(); ++i) K(i, j) += row_times(A, i, column);
  }
}

}  // namespace

FieldTerm::FieldTerm(const TermSpec& spec)
    : Term(spec.label),
      field_(spec.field, spec.rows),
      basis_(spec.field.basis),
      coefficients_(spec.mean, spec.factors) {
  if (basis_.size() == 0) basis_.resize(field_.size(), 0);
  if (basis_.rows() != field_.size() || basis_.cols() != columns() || columns() != spec.factors.rows())
    throw std::invalid_argument("term " + spec.label + ": the field's basis and its prior differ in size");

  std::vector<Index> place(field_.size(), -1);
  for (Index n = 0; n < field_.rows().rows(); ++n)
    for (SparseRows::InnerIterator w(field_.rows(), n); w; ++w) place[w.col()] = 0;
  std::vector<Eigen::Triplet<double>> entries;
  for (Index node = 0; node < field_.size(); ++node)
    if (place[node] == 0) {
      place[node] = static_cast<Index>(touched_.size());
      touched_.push_back(node);
    }
  for (Index n = 0; n < field_.rows().rows(); ++n)
    for (SparseRows::InnerIterator w(field_.rows(), n); w; ++w)
      entries.emplace_back(n, place[w.col()], w.value());
  touching_.resize(field_.rows().rows(), static_cast<Index>(touched_.size()));
  touching_.setFromTriplets(entries.begin(), entries.end());
}

void FieldTerm::update(const ConstVectorRef& hyper) {
  field_.update(hyper);
  coefficients_.update(hyper);
  whitened_basis_ = basis_ * coefficients_.scale().asDiagonal();
  touched_covariance_.resize(0, 0);
}

const Matrix& FieldTerm::touched_covariance(Context& context) const {
  if (touched_covariance_.size() == 0) {
    Matrix unit = Matrix::Zero(field_.size(), static_cast<Index>(touched_.size()));
    for (std::size_t k = 0; k < touched_.size(); ++k) unit(touched_[k], k) = 1;
    touched_covariance_ = field_.covariance_times(context, unit);
  }
  return touched_covariance_;
}

void FieldTerm::add_covariance(Context& context, MatrixRef K) const {
  const Matrix& all = touched_covariance(context);
  Matrix among(all.cols(), all.cols());
  for (Index k = 0; k < all.cols(); ++k) among.row(k) = all.row(touched_[k]);
  add_quadratic(touching_, among, K);
  if (columns() > 0)
    add_crossproduct(context, 1.0, Matrix(field_.rows() * whitened_basis_).transpose(), 1.0, K);
}

void FieldTerm::add_variances(Context& context, VectorRef d) const {
  d += field_.rows().cwiseAbs2() * field_.variances(context);
  d += Matrix(field_.rows() * basis_).cwiseAbs2() * coefficients_.variance();
}

void FieldTerm::add_variances(Context& context, const TermRows& others, VectorRef d) const {
  const SparseRows W = design(others);
  d += W.cwiseAbs2() * field_.variances(context);
  d += Matrix(W * basis_).cwiseAbs2() * coefficients_.variance();
}

void FieldTerm::add_cross(Context& context, const TermRows& others, MatrixRef K) const {
  const SparseRows W = design(others);
  const Matrix to_others = W * touched_covariance(context);
  K += touching_ * to_others.transpose();
  K += Matrix(field_.rows() * whitened_basis_) * Matrix(W * whitened_basis_).transpose();
}

void FieldTerm::add_covariance(Context& context, const TermRows& others, MatrixRef K) const {
  const SparseRows W = design(others);
  K += W * field_.covariance_times(context, Matrix(W.transpose()));
  const Matrix columns = W * whitened_basis_;
  K += columns * columns.transpose();
}

// d cov = -W Q^- dQ Q^- W', so that d bound / dQ = -Q^- H Q^- with H = W'G W, which is zero but among the
// touched nodes. Its sum with Q is -tr(H Q^-).
void FieldTerm::add_covariance_gradient(Context& context, const Weights& G, VectorRef hyper) const {
  if (columns() > 0) {  // d/d variance_j = w_j' G w_j, as in ColumnsTerm
    const Matrix W = field_.rows() * basis_;
    coefficients_.chain(W.cwiseProduct(G.multiply(W)).colwise().sum().transpose(), hyper);
  }
  const Index N = touching_.rows(), touched = touching_.cols();
  Matrix H = Matrix::Zero(touched, touched);
  for (Index row0 = 0; row0 < N; row0 += tile_rows)
    for (Index col0 = 0; col0 <= row0; col0 += tile_rows) {
      context.monitor.poll();
      Matrix tile(std::min(tile_rows, N - row0), std::min(tile_rows, N - col0));
      G.tile(row0, col0, tile);
      for (Index j = 0; j < tile.cols(); ++j)
        for (Index i = row0 == col0 ? j : 0; i < tile.rows(); ++i) {
          const double share = row0 == col0 && i == j ? 0.5 : 1.0;  // H becomes H + H'
          for (SparseRows::InnerIterator a(touching_, row0 + i); a; ++a)
            for (SparseRows::InnerIterator b(touching_, col0 + j); b; ++b)
              H(a.col(), b.col()) += share * a.value() * b.value() * tile(i, j);
        }
    }
  H += H.transpose().eval();
  const Matrix& C = touched_covariance(context);
  Matrix CH(C.rows(), touched);
  multiply(context, false, false, 1.0, C, H, 0.0, CH);
  if (field_.one_part()) {
    double trace = 0;
    for (Index k = 0; k < touched; ++k) trace += CH(touched_[k], k);
    field_.add_gradient_of_one_part(-trace, hyper);
    return;
  }
  const Matrix left = CH.transpose(), right = C.transpose();
  const SparseMatrix& pattern = field_.pinned_precision();
  Vector d_precision(pattern.nonZeros());
  for (Index j = 0; j < pattern.cols(); ++j)
    for (int e = pattern.outerIndexPtr()[j]; e < pattern.outerIndexPtr()[j + 1]; ++e)
      d_precision[e] = -left.col(pattern.innerIndexPtr()[e]).dot(right.col(j));
  field_.add_gradient(d_precision, hyper);
}

}  // namespace galvi
