#include "numeric/correlations.h"

#include <cmath>
#include <limits>

namespace galvi {

namespace {

Index order_of(const ConstVectorRef& below_diagonal) { return matrix_order(below_diagonal.size()) + 1; }

Matrix cholesky_factor(const ConstVectorRef& partial) {
  const Index q = order_of(partial);
  Matrix L = Matrix::Zero(q, q);
  Index at = 0;
  for (Index i = 0; i < q; ++i) {
    double left = 1;  // prod sqrt(1 - z^2)
    for (Index j = 0; j < i; ++j, ++at) {
      L(i, j) = partial[at] * left;
      left *= std::sqrt((1 - partial[at]) * (1 + partial[at]));
    }
    L(i, i) = left;
  }
  return L;
}

}  // namespace

Index matrix_order(Index numbers) {
  return static_cast<Index>(std::lround((std::sqrt(8.0 * static_cast<double>(numbers) + 1) - 1) / 2));
}

Matrix correlation_matrix(const ConstVectorRef& correlations) {
  const Index q = order_of(correlations);
  Matrix R = Matrix::Identity(q, q);
  Index at = 0;
  for (Index i = 1; i < q; ++i)
    for (Index j = 0; j < i; ++j, ++at) R(i, j) = R(j, i) = correlations[at];
  return R;
}

Vector correlations_of(const ConstVectorRef& partial) {
  const Matrix L = cholesky_factor(partial);
  Vector out(partial.size());
  Index at = 0;
  for (Index i = 1; i < L.rows(); ++i)
    for (Index j = 0; j < i; ++j, ++at) out[at] = L.row(i).dot(L.row(j));
  return out;
}

Vector partial_correlations(const ConstVectorRef& correlations) {
  const Index q = order_of(correlations);
  Vector out(correlations.size());
  Matrix L = Matrix::Zero(q, q);
  L(0, 0) = 1;
  Index at = 0;
  for (Index i = 1; i < q; ++i) {
    double left = 1;  // the rest of row i's squared length
    for (Index j = 0; j < i; ++j, ++at) {
      L(i, j) = (correlations[at] - L.row(i).head(j).dot(L.row(j).head(j))) / L(j, j);
      out[at] = L(i, j) / std::sqrt(left);
      if (!(std::abs(out[at]) < 1)) out[at] = std::numeric_limits<double>::quiet_NaN();
      left -= L(i, j) * L(i, j);
    }
    L(i, i) = std::sqrt(left);
  }
  return out;
}

// R_ij = L_i . L_j, so that row i of d f / dL is the sum over j of d f / d R_ij L_j.
Vector chain_correlations(const ConstVectorRef& partial, const ConstVectorRef& d_correlation) {
  const Matrix L = cholesky_factor(partial);
  const Index q = L.rows();
  Matrix G = correlation_matrix(d_correlation);
  G.diagonal().setZero();
  const Matrix dL = G * L;
  Vector out(partial.size());
  Index at = 0;
  for (Index i = 1; i < q; ++i) {
    double left = 1;
    for (Index j = 0; j < i; ++j, ++at) {
      const double z = partial[at], rest = (1 - z) * (1 + z);
      const Index after = i - j;  // later entries of the row shrink with sqrt(1 - z^2)
      out[at] = dL(i, j) * left - z / rest * dL.row(i).segment(j + 1, after).dot(L.row(i).segment(j + 1, after));
      left *= std::sqrt(rest);
    }
  }
  return out;
}

}  // namespace galvi
