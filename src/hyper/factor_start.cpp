#include <algorithm>
#include <cmath>
#include <random>

#include "hyper/factors.h"

namespace galvi {

namespace {

// R X and R' X, where R is a units x items matrix with a value in each row of the data.
Matrix by_unit(const TermRows& rows, const Vector& value, Index units, const Matrix& X) {
  Matrix out = Matrix::Zero(X.rows(), units);
  for (Index n = 0; n < value.size(); ++n) out.col(rows.node(n)) += value[n] * X.col(rows.item(n));
  return out;
}
Matrix by_item(const TermRows& rows, const Vector& value, Index items, const Matrix& X) {
  Matrix out = Matrix::Zero(X.rows(), items);
  for (Index n = 0; n < value.size(); ++n) out.col(rows.item(n)) += value[n] * X.col(rows.node(n));
  return out;
}

// Gives X (k x p) orthonormal rows.
Matrix orthonormal(const Matrix& X) {
  const Eigen::HouseholderQR<Matrix> qr(X.transpose());
  return (qr.householderQ() * Matrix::Identity(X.cols(), X.rows())).transpose();
}

}  // namespace

FactorStart factor_start(Context& context, const TermRows& rows, const Vector& eta, const Vector& weight, Index units,
                         Index items, Index dimension, Index effects) {
  const Index N = eta.size(), q = std::max<Index>(effects, 1);
  // If the term has no effects of its own, the items' means are left to other terms.
  const auto x = [&](Index n) -> Vector { return effects > 0 ? Vector(rows.W.row(n)) : Vector::Ones(1); };
  std::vector<Matrix> gram(items, Matrix::Identity(q, q) * 1e-8);
  Matrix cross = Matrix::Zero(q, items);
  for (Index n = 0; n < N; ++n) {
    if (weight[n] == 0) continue;
    const Vector own = x(n);
    gram[rows.item(n)].noalias() += own * own.transpose();
    cross.col(rows.item(n)) += eta[n] * own;
  }
  for (Index j = 0; j < items; ++j) cross.col(j) = gram[j].ldlt().solve(cross.col(j)).eval();
  Vector residual = Vector::Zero(N);
  for (Index n = 0; n < N; ++n)
    if (weight[n] > 0) residual[n] = eta[n] - x(n).dot(cross.col(rows.item(n)));

  // Subspace iteration, with more directions than needed.
  const Index k = std::min(dimension + 8, std::min(items, units));
  const int iterations = N > 100000 ? 10 : 50;
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Matrix V = Matrix::NullaryExpr(k, items, [&]() { return uniform(generator); });
  for (int i = 0; i < iterations; ++i) {
    context.monitor.poll();
    V = by_item(rows, residual, items, by_unit(rows, residual, units, orthonormal(V)));
  }
  V = orthonormal(V);
  const Matrix scores = by_unit(rows, residual, units, V);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(scores * scores.transpose());  // increasing
  Index seen = 0;
  std::vector<bool> has_rows(units, false);
  for (Index n = 0; n < N; ++n) has_rows[rows.node(n)] = true;
  for (const bool has : has_rows) seen += has;
  FactorStart out{Matrix::Zero(dimension, items), effects > 0 ? cross : Matrix(0, items)};
  for (Index f = 0; f < std::min(dimension, k); ++f) {
    const double value = std::sqrt(std::max(eigen.eigenvalues()[k - 1 - f], 0.0) / static_cast<double>(seen));
    out.loadings.row(f) = value * (eigen.eigenvectors().col(k - 1 - f).transpose() * V);
  }
  return out;
}

}  // namespace galvi
