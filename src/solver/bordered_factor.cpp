#include "solver/bordered_factor.h"

#include <cmath>

#include "numeric/backend.h"
#include "numeric/dense.h"

namespace galvi {

namespace {

constexpr Index most_bordered = 500;

// Exchanges one block of pivots of a symmetric S; after all blocks, S has become -S^-1. Returns false unless
// `sign` times the block's Schur complement is positive definite.
bool sweep_block(Context& context, Matrix& S, Index begin, Index size, double sign, double& log_det) {
  if (size == 0) return true;
  Matrix pivot = sign * S.block(begin, begin, size, size);
  if (!cholesky(context, pivot)) return false;
  log_det += 2 * pivot.diagonal().array().log().sum();
  invert_from_cholesky(context, pivot, size);
  fill_upper(pivot);
  pivot *= sign;
  const Matrix columns = S.middleCols(begin, size);
  Matrix swept(S.rows(), size);
  multiply(context, false, false, 1.0, columns, pivot, 0.0, swept);
  multiply(context, false, true, -1.0, swept, columns, 1.0, S);
  S.middleCols(begin, size) = swept;
  S.middleRows(begin, size) = swept.transpose();
  S.block(begin, begin, size, size) = -pivot;
  return true;
}

}  // namespace

BorderedFactor::BorderedFactor(Context& context, const FieldStack& fields, const DenseColumns& columns,
                               const SparseCholesky& symbolic, const Vector& lambda)
    : factor_(symbolic), columns_(columns.size()), constraints_(fields.constraint_count()) {
  ok_ = factorise(context, fields, columns, lambda, {});
  if (ok_ || fields.constraint_count() == 0) return;
  std::vector<Index> negative;
  for (Index n = 0; n < lambda.size(); ++n)
    if (lambda[n] < 0) negative.push_back(n);
  if (!negative.empty() && static_cast<Index>(negative.size()) <= most_bordered)
    ok_ = factorise(context, fields, columns, lambda, negative);
}

// The part of M beside A. Its unknowns are, in this order, coefficients, multipliers, pins and bordered rows.
struct BorderedFactor::Border {
  Index multipliers, pins, rows;  // where each kind starts
  Matrix coupling;                // E', p x L
  Matrix corner;                  // G, p x p

  Border(Index coefficients, Index constraints, Index bordered, Index nodes)
      : multipliers(coefficients),
        pins(multipliers + constraints),
        rows(pins + constraints),
        coupling(Matrix::Zero(rows + bordered, nodes)),
        corner(Matrix::Zero(rows + bordered, rows + bordered)) {}

  void add_columns(Context& context, const FieldStack& fields, const DenseColumns& columns,
                   const Vector& lambda);
  void add_constraints(const FieldStack& fields);
  void add_rows(const FieldStack& fields, const DenseColumns& columns, const Vector& lambda,
                const std::vector<Index>& bordered);
};

void BorderedFactor::Border::add_columns(Context& context, const FieldStack& fields,
                                         const DenseColumns& columns, const Vector& lambda) {
  const Index q = columns.size();
  if (q == 0) return;
  const SparseRows& W = fields.rows();
  std::vector<Matrix> sums(columns.groups(), Matrix::Zero(q, q));
  columns.for_chunks_in_order(
      2.0 * static_cast<double>(W.rows()) * q * q,
      [&](Index group, Index begin, const ConstMatrixRef& chunk) {
        const Matrix weighted = lambda.segment(begin, chunk.rows()).asDiagonal() * chunk;
        context.backend.multiply(true, false, 1.0, chunk, weighted, 1.0, sums[group]);
      },
      [&](Index, Index begin, const ConstMatrixRef& chunk) {
        for (Index i = 0; i < chunk.rows(); ++i) {
          const Vector weighted = lambda[begin + i] * chunk.row(i).transpose();
          for (SparseRows::InnerIterator w(W, begin + i); w; ++w) {
            double* column = &coupling(0, w.col());
            for (Index k = 0; k < q; ++k) column[k] += w.value() * weighted[k];
          }
        }
      });
  for (const Matrix& sum : sums) corner.topLeftCorner(q, q) += sum;
  corner.diagonal().head(q) += columns.prior().precision();
}

void BorderedFactor::Border::add_constraints(const FieldStack& fields) {
  coupling.middleRows(multipliers, fields.constraint_count()) = fields.constraints().transpose();
  for (Index j = 0; j < fields.constraint_count(); ++j) {
    const double kappa = fields.pin_weights()[j];
    coupling(pins + j, fields.pins()[j]) = -kappa;
    corner(pins + j, pins + j) = kappa;
  }
}

void BorderedFactor::Border::add_rows(const FieldStack& fields, const DenseColumns& columns,
                                      const Vector& lambda, const std::vector<Index>& bordered) {
  const Index q = columns.size();
  for (std::size_t k = 0; k < bordered.size(); ++k) {
    const Index n = bordered[k], at = rows + static_cast<Index>(k);
    const double root = std::sqrt(-lambda[n]);
    corner.col(at).head(q) = root * columns.row(n);
    corner.row(at).head(q) = corner.col(at).head(q).transpose();
    corner(at, at) = 1;
    for (SparseRows::InnerIterator w(fields.rows(), n); w; ++w) coupling(at, w.col()) = root * w.value();
  }
}

// `bordered`: rows with negative lambda that are moved to the border.
bool BorderedFactor::factorise(Context& context, const FieldStack& fields, const DenseColumns& columns,
                               const Vector& lambda, const std::vector<Index>& bordered) {
  const int counted = context.cost.factorisations;
  Vector inside = lambda;
  for (const Index n : bordered) inside[n] = 0;
  const Vector values = fields.precision(context, inside);
  if (!factor_.factorise(context, values)) return false;
  diagonal_.resize(fields.size());
  for (Index j = 0; j < fields.size(); ++j) diagonal_[j] = values[fields.pattern().outerIndexPtr()[j]];

  Border border(columns.size(), fields.constraint_count(), static_cast<Index>(bordered.size()),
                fields.size());
  border.add_columns(context, fields, columns, inside);
  border.add_constraints(fields);
  border.add_rows(fields, columns, lambda, bordered);
  if (!eliminate(context, border, columns, lambda.minCoeff() < 0)) return false;
  context.cost.factorisations = counted + 1;  // the border is part of it
  return true;
}

// Only collinear columns with a flat prior, or negative sites, can make this factorisation fail.
bool BorderedFactor::eliminate(Context& context, const Border& border, const DenseColumns& columns,
                               bool negative_sites) {
  Matrix solved = border.coupling.transpose();  // T
  factor_.solve(context, solved);
  Matrix schur = border.corner;  // S
  multiply(context, false, false, -1.0, border.coupling, solved, 1.0, schur);
  schur = (0.5 * (schur + schur.transpose())).eval();
  by_node_ = solved.transpose();

  log_det_ = factor_.log_det();
  const Index q = border.multipliers, constraints = border.pins - border.multipliers;
  const Vector diagonal = schur.diagonal();
  if (!sweep_block(context, schur, 0, q, 1, log_det_)) {
    if (columns.prior().null_dimension() > 0 && !negative_sites) Prior::throw_collinear();
    return false;
  }
  columns.prior().check_collinear(diagonal, -schur.diagonal());
  if (!sweep_block(context, schur, border.multipliers, constraints, -1, log_det_) ||
      !sweep_block(context, schur, border.pins, schur.rows() - border.pins, 1, log_det_))
    return false;
  border_inverse_ = -schur;
  weighted_ = border_inverse_ * by_node_;
  return true;
}

void BorderedFactor::solve(Context& context, Matrix& X, Matrix& Y) const {
  Matrix g = -by_node_ * X;
  g.topRows(columns_) += Y;
  g = (border_inverse_ * g).eval();
  factor_.solve(context, X);
  X.noalias() -= by_node_.transpose() * g;
  Y = g.topRows(columns_);
}

Matrix BorderedFactor::cross_covariance(const Backend& backend, const SparseRows& W, Index begin,
                                        const ConstMatrixRef& dense, Vector* quadratic) const {
  Matrix r = Matrix::Zero(by_node_.rows(), dense.rows());
  r.topRows(columns_) = dense.transpose();
  const Index p = r.rows();
  if (p > 0)
    for (Index i = 0; i < dense.rows(); ++i)
      for (SparseRows::InnerIterator w(W, begin + i); w; ++w) {
        const double* column = &by_node_(0, w.col());
        double* out = &r(0, i);
        for (Index k = 0; k < p; ++k) out[k] -= w.value() * column[k];
      }
  Matrix solved(r.rows(), r.cols());
  backend.multiply(false, false, 1.0, border_inverse_, r, 0.0, solved);
  if (quadratic) *quadratic = solved.cwiseProduct(r).colwise().sum().transpose();
  return solved.topRows(columns_);
}

Vector BorderedFactor::border_cross(const SparseRows& W, Index n, const Vector& dense,
                                    const std::vector<Index>& nodes) const {
  Vector r = Vector::Zero(by_node_.rows());
  r.head(columns_) = dense;
  for (SparseRows::InnerIterator w(W, n); w; ++w) r -= w.value() * by_node_.col(w.col());
  Vector out(static_cast<Index>(nodes.size()));
  for (Index k = 0; k < out.size(); ++k) out[k] = -weighted_.col(nodes[k]).dot(r);
  return out;
}

// The unknowns g other than multipliers are beta and s. The density of z and g is proper on B'z = 0, where z
// given g has the precision A and the mean -T g. So g is drawn from its covariance, a block of S^-1, and z
// from A without the constraint, which conditioning by kriging then imposes: z <- z - A^-1 B (B' A^-1 B)^-1
// B' z.
void BorderedFactor::draw(Context& context, const FieldStack& fields, Index count, Matrix& z,
                          Matrix& beta) const {
  const Index q = columns_, c = constraints_, free = q + c;
  const auto without_multipliers = [&](const Matrix& X) {
    Matrix out(free, X.cols());
    out.topRows(q) = X.topRows(q);
    out.bottomRows(c) = X.bottomRows(c);
    return out;
  };
  const Matrix covariance = without_multipliers(without_multipliers(border_inverse_).transpose());
  const Matrix root = covariance_root(context, covariance);
  const Matrix g = root * white_noise(context, root.cols(), count);
  z = white_noise(context, by_node_.cols(), count);
  factor_.solve_lower_transposed(context, z);
  z.noalias() -= without_multipliers(by_node_).transpose() * g;
  beta = g.topRows(q);
  if (c == 0) return;
  const auto T = by_node_.middleRows(q, c);
  const Matrix K = T * fields.constraints();
  z.noalias() -= T.transpose() * K.ldlt().solve(fields.constraints().transpose() * z);
}

const Vector& BorderedFactor::selected_inverse(Context& context) const {
  if (selected_inverse_.size() == 0) {
    const SparseMatrix inverse = factor_.selected_inverse(context);
    selected_inverse_ = Eigen::Map<const Vector>(inverse.valuePtr(), inverse.nonZeros());
  }
  return selected_inverse_;
}

Vector BorderedFactor::quadratic_forms(Context& context, Matrix X) const {
  factor_.solve_lower(context, X);
  return X.colwise().squaredNorm().transpose();
}

}  // namespace galvi
