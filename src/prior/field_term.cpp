#include "prior/field_term.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/dense.h"

namespace galvi {

namespace {

constexpr Index tile_rows = 256;

/// The nodes that some rows touch, and the rows over these nodes alone.
struct Touched {
  std::vector<Index> nodes;
  SparseRows design;  // n x nodes.size()

  explicit Touched(const SparseRows& W) {
    std::vector<Index> place(W.cols(), -1);
    for (Index n = 0; n < W.rows(); ++n)
      for (SparseRows::InnerIterator w(W, n); w; ++w) place[w.col()] = 0;
    for (Index node = 0; node < W.cols(); ++node)
      if (place[node] == 0) {
        place[node] = static_cast<Index>(nodes.size());
        nodes.push_back(node);
      }
    std::vector<Eigen::Triplet<double>> entries;
    for (Index n = 0; n < W.rows(); ++n)
      for (SparseRows::InnerIterator w(W, n); w; ++w) entries.emplace_back(n, place[w.col()], w.value());
    design.resize(W.rows(), static_cast<Index>(nodes.size()));
    design.setFromTriplets(entries.begin(), entries.end());
  }

  /// The columns of Q^- at these nodes.   L x nodes.size()
  Matrix covariance(Context& context, const Field& field) const {
    Matrix unit = Matrix::Zero(field.size(), static_cast<Index>(nodes.size()));
    for (std::size_t k = 0; k < nodes.size(); ++k) unit(nodes[k], k) = 1;
    return field.covariance_times(context, unit);
  }
};

// K (lower triangle) += A S A' for a symmetric S
void add_quadratic(const SparseRows& A, const Matrix& S, MatrixRef K) {
  for (Index j = 0; j < A.rows(); ++j) {
    Vector column = Vector::Zero(S.rows());
    for (SparseRows::InnerIterator w(A, j); w; ++w) column += w.value() * S.col(w.col());
    for (Index i = j; i < A.rows(); ++i)
      for (SparseRows::InnerIterator w(A, i); w; ++w) K(i, j) += w.value() * column[w.col()];
  }
}

}  // namespace

FieldTerm::FieldTerm(const TermSpec& spec)
    : CoefficientsTerm(spec), field_(spec.field), basis_(spec.field.basis) {
  if (basis_.size() == 0) basis_.resize(field_.size(), 0);
  if (basis_.rows() != field_.size() || basis_.cols() != columns() || columns() != spec.factors.rows())
    throw std::invalid_argument("term " + spec.label + ": the field's basis and its prior differ in size");
}

void FieldTerm::update(const ConstVectorRef& hyper) {
  field_.update(hyper);
  coefficients_.update(hyper);
  whitened_basis_ = basis_ * coefficients_.scale().asDiagonal();
}

void FieldTerm::check(const TermRows& rows) const {
  if (rows.weight.cols() > 1) check_width("weight", rows.weight.cols(), rows.node.cols());
  if (rows.node.size() > 0 && rows.node.maxCoeff() >= field_.size())
    throw std::invalid_argument("term " + label() + ": a row is at a node that its field does not have");
}

void FieldTerm::fill(const TermRows& rows, Index begin, MatrixRef W) const {
  if (columns() == 0) return;
  W.setZero();
  for (Index i = 0; i < W.rows(); ++i)
    for (Index h = 0; h < rows.node.cols(); ++h)
      if (const Index node = rows.node(begin + i, h); node >= 0)
        W.row(i) +=
            rows.node_weight(begin + i, h) * whitened_basis_.row(node);
}

void FieldTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  const SparseRows W = field_design(rows);
  const Touched touched(W);
  const Matrix all = touched.covariance(context, field_);
  Matrix among(all.cols(), all.cols());
  for (Index k = 0; k < all.cols(); ++k) among.row(k) = all.row(touched.nodes[k]);
  add_quadratic(touched.design, among, K);
  if (columns() > 0) add_crossproduct(context, 1.0, Matrix(W * whitened_basis_).transpose(), 1.0, K);
}

void FieldTerm::add_variances(Context& context, const TermRows& rows, VectorRef d) const {
  const SparseRows W = field_design(rows);
  d += field_.row_variances(context, W);
  d += coefficients_.row_variances(W * basis_);
}

// Solves for the nodes of `others`, which are few in predictions.
void FieldTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const {
  const SparseRows W = field_design(rows), other = field_design(others);
  const Touched touched(other);
  const Matrix to_rows = W * touched.covariance(context, field_);
  K += to_rows * touched.design.transpose();
  K += Matrix(W * whitened_basis_) * Matrix(other * whitened_basis_).transpose();
}

// d cov = -W Q^- dQ Q^- W', so that d bound / dQ = -Q^- H Q^- with H = W'G W, which is zero except among the
// touched nodes. Its product with Q, summed, is -tr(H Q^-), node by node.
void FieldTerm::add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                                        VectorRef hyper) const {
  const SparseRows all_rows = field_design(rows);
  if (columns() > 0) {  // d/d variance_j = w_j' G w_j, as in ColumnsTerm
    const Matrix W = all_rows * basis_;
    coefficients_.chain(W.cwiseProduct(G.multiply(W)).colwise().sum().transpose(), hyper);
  }
  const Touched touched(all_rows);
  const SparseRows& W = touched.design;
  const Index N = W.rows(), width = W.cols();
  Matrix H = Matrix::Zero(width, width);
  for (Index row0 = 0; row0 < N; row0 += tile_rows)
    for (Index col0 = 0; col0 <= row0; col0 += tile_rows) {
      context.monitor.poll();
      Matrix tile(std::min(tile_rows, N - row0), std::min(tile_rows, N - col0));
      G.tile(row0, col0, tile);
      for (Index j = 0; j < tile.cols(); ++j)
        for (Index i = row0 == col0 ? j : 0; i < tile.rows(); ++i) {
          const double share = row0 == col0 && i == j ? 0.5 : 1.0;  // H becomes H + H'
          for (SparseRows::InnerIterator a(W, row0 + i); a; ++a)
            for (SparseRows::InnerIterator b(W, col0 + j); b; ++b)
              H(a.col(), b.col()) += share * a.value() * b.value() * tile(i, j);
        }
    }
  H += H.transpose().eval();
  const Matrix C = touched.covariance(context, field_);
  Matrix CH(C.rows(), width);
  multiply(context, false, false, 1.0, C, H, 0.0, CH);
  if (field_.scaled()) {
    Vector with_Q = Vector::Zero(field_.size());
    for (Index k = 0; k < width; ++k) with_Q[touched.nodes[k]] = -CH(touched.nodes[k], k);
    field_.add_gradient_of_scales(with_Q, hyper);
    return;
  }
  const Matrix left = CH.transpose(), right = C.transpose();
  const SparseMatrix& pattern = field_.pinned_precision();
  Vector d_precision(pattern.nonZeros());
  for (Index j = 0; j < pattern.cols(); ++j)
    for (int e = pattern.outerIndexPtr()[j]; e < pattern.outerIndexPtr()[j + 1]; ++e)
      d_precision[e] = -left.col(pattern.innerIndexPtr()[e]).dot(right.col(j));
  field_.add_gradient(context, d_precision, 0, hyper);
}

}  // namespace galvi
