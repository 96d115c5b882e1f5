#include "prior/penalised_term.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <Eigen/QR>

namespace galvi {

PenalisedTerm::PenalisedTerm(const TermSpec& spec) : LowRankTerm(spec.label), free_(spec.mean, spec.factors) {
  Index at = spec.mean.size();
  for (const PenaltySpec& penalty : spec.penalties) {
    const auto penalties = static_cast<Index>(penalty.hyper.size());
    const bool diagonal = penalty.roots.empty();
    const Index count = diagonal ? penalty.diagonal.rows() : penalty.roots[0].cols();
    bool fits = count > 0 && penalties > 0 &&
                (diagonal ? penalty.diagonal.cols() : static_cast<Index>(penalty.roots.size())) == penalties;
    for (const Matrix& root : penalty.roots) fits = fits && root.cols() == count;
    if (!fits)
      throw std::invalid_argument("term " + spec.label + ": penalties and their hyperparameters differ in size");
    blocks_.push_back({penalty, at, count, {}, {}, {}});
    at += count;
  }
  mean_ = Vector::Zero(at);
  mean_.head(spec.mean.size()) = spec.mean;
  variance_ = Vector::Ones(at);
}

void PenalisedTerm::update(const ConstVectorRef& hyper) {
  free_.update(hyper);
  variance_.head(free_.mean().size()) = free_.variance();
  for (Block& block : blocks_) {
    block.v.resize(static_cast<Index>(block.penalty.hyper.size()));
    for (Index k = 0; k < block.v.size(); ++k) block.v[k] = hyper[block.penalty.hyper[k]];
    if (!block.diagonal()) {
      factorise(block);
      continue;
    }
    for (Index j = 0; j < block.count; ++j) {
      double precision = 0;
      for (Index k = 0; k < block.v.size(); ++k)
        if (const double d = block.penalty.diagonal(j, k); d > 0) precision += d / block.v[k];
      if (!(precision > 0)) throw std::domain_error("term " + label() + ": a column has no penalty");
      variance_[block.first + j] = 1 / precision;
    }
  }
}

// The largest roots first, so that the small ones keep their digits.
void PenalisedTerm::factorise(Block& block) const {
  std::vector<std::size_t> order(block.penalty.roots.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> size(order.size());
  Index rows = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    size[k] = block.penalty.roots[k].norm() / std::sqrt(block.v[static_cast<Index>(k)]);
    rows += block.penalty.roots[k].rows();
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  Matrix stacked(std::max(rows, block.count), block.count);
  stacked.setZero();
  Index at = 0;
  for (const std::size_t k : order) {
    const Matrix& root = block.penalty.roots[k];
    stacked.middleRows(at, root.rows()) = root / std::sqrt(block.v[static_cast<Index>(k)]);
    at += root.rows();
  }
  const Eigen::HouseholderQR<Matrix> qr(stacked);
  block.R = qr.matrixQR().topRows(block.count).triangularView<Eigen::Upper>();
  // a positive diagonal: the columns are then smooth in the hyperparameters
  for (Index j = 0; j < block.count; ++j)
    if (block.R(j, j) < 0) block.R.row(j) *= -1;
  if (!block.R.allFinite() || !(block.R.diagonal().minCoeff() > 0))
    throw std::domain_error("term " + label() + ": the penalties do not determine all coefficients");
  block.inverse = Matrix::Identity(block.count, block.count);
  block.R.triangularView<Eigen::Upper>().solveInPlace(block.inverse);
}

void PenalisedTerm::add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const {
  const Index q = free_.mean().size();
  mean += rows.W.middleRows(begin, mean.size()).leftCols(q) * free_.mean();
}

void PenalisedTerm::add_variances(Context&, const TermRows& rows, VectorRef d) const {
  d += free_.row_variances(rows.W.leftCols(free_.mean().size()));
  Matrix W(rows.W.rows(), columns());
  fill(rows, 0, W);
  d += W.rightCols(columns() - free_.mean().size()).rowwise().squaredNorm();
}

void PenalisedTerm::whiten(MatrixRef X) const {
  const Index q = free_.mean().size();
  X.leftCols(q) *= free_.scale().asDiagonal();
  for (const Block& block : blocks_) {
    auto own = X.middleCols(block.first, block.count);
    if (block.diagonal())
      own *= variance_.segment(block.first, block.count).cwiseSqrt().asDiagonal();
    else
      own *= block.inverse;
  }
}

// The sums: of free columns and blocks of diagonal penalties <W_j, G_j>, of the others W'G.
Index PenalisedTerm::gradient_size() const {
  Index size = free_.mean().size();
  for (const Block& block : blocks_) size += block.diagonal() ? block.count : block.count * block.count;
  return size;
}

void PenalisedTerm::add_gradient(const TermRows&, Index, const ConstMatrixRef& W, const ConstMatrixRef& G,
                                 const ConstVectorRef&, VectorRef sums) const {
  Index at = free_.mean().size();
  sums.head(at) += W.leftCols(at).cwiseProduct(G.leftCols(at)).colwise().sum().transpose();
  for (const Block& block : blocks_) {
    const auto w = W.middleCols(block.first, block.count), g = G.middleCols(block.first, block.count);
    if (block.diagonal()) {
      sums.segment(at, block.count) += w.cwiseProduct(g).colwise().sum().transpose();
      at += block.count;
    } else {
      Eigen::Map<Matrix>(sums.data() + at, block.count, block.count).noalias() += w.transpose() * g;
      at += block.count * block.count;
    }
  }
}

// Diagonal: d bound / d variance_j = sum_j / (2 variance_j), d variance_j / d v_k = variance_j^2 d_jk / v_k^2.
// Else dP = R'(T + T') R with T = dR R^-1 upper triangular, and d(X R^-1) = -W T: of P moved by -S_k / v_k^2,
// T + T' = -(B R^-1)'(B R^-1) / v_k^2 with S_k = B'B, and d bound = -<W'G, T>.
void PenalisedTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  const Index q = free_.mean().size();
  Vector d_variance = Vector::Zero(q);
  for (Index j = 0; j < q; ++j)
    if (const double v = free_.variance()[j]; std::isfinite(v) && v > 0) d_variance[j] = sums[j] / (2 * v);
  free_.chain(d_variance, hyper);
  Index at = q;
  for (const Block& block : blocks_) {
    for (Index k = 0; k < block.v.size(); ++k) {
      const double v = block.v[k];
      if (!(v > 0)) continue;
      double sum = 0;  // v_k^2 times the derivative
      if (block.diagonal()) {
        for (Index j = 0; j < block.count; ++j)
          sum += sums[at + j] * variance_[block.first + j] * block.penalty.diagonal(j, k) / 2;
      } else {
        const Eigen::Map<const Matrix> WG(sums.data() + at, block.count, block.count);
        const Matrix root = block.penalty.roots[k] * block.inverse;
        Matrix T = root.transpose() * root;
        T.diagonal() /= 2;
        sum = WG.cwiseProduct(Matrix(T.triangularView<Eigen::Upper>())).sum();
      }
      hyper[block.penalty.hyper[k]] += sum / (v * v);
    }
    at += block.diagonal() ? block.count : block.count * block.count;
  }
}

// The same coefficients, whitened by other variances.
bool PenalisedTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const PenalisedTerm*>(&old);
  if (!before || before->columns() != columns() || before->blocks_.size() != blocks_.size()) return false;
  const Index q = free_.mean().size();
  if (before->free_.mean().size() != q) return false;
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    if (before->blocks_[b].count != blocks_[b].count || before->blocks_[b].diagonal() != blocks_[b].diagonal())
      return false;
  Vector scale = variance_.cwiseSqrt(), known = before->variance_.cwiseSqrt();
  scale.head(q) = free_.scale();
  known.head(q) = before->free_.scale();
  const Vector unit = (known.array() > 0).select(known.cwiseInverse(), 0.0);
  B = unit.cwiseProduct(scale).asDiagonal();
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    if (!block.diagonal())
      B.block(block.first, block.first, block.count, block.count) = before->blocks_[b].R * block.inverse;
  }
  shift = unit.cwiseProduct(mean_ - before->mean_);
  left = Matrix::Zero(columns(), columns());
  return true;
}

// Where each column has its own variance.
bool PenalisedTerm::has_plain_design() const {
  return std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.diagonal(); });
}

}  // namespace galvi
