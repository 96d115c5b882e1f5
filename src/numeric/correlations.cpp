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

// With phi the coefficients of the best prediction from k - 1 values before and v its variance,
//   r_k = sum_j phi_j r_(k-j) + p_k v,   phi_j <- phi_j - p_k phi_(k-j),  phi_k = p_k,   v <- v (1 - p_k^2).
// Derivatives go forward with them.
Vector autocorrelations(const ConstVectorRef& partial, Matrix* slope) {
  const Index m = partial.size();
  Vector r(m), phi(m), d_v = Vector::Zero(m);
  Matrix d_r = Matrix::Zero(m, m), d_phi = Matrix::Zero(m, m);
  double v = 1;
  for (Index k = 0; k < m; ++k) {  // lag k + 1
    const double p = partial[k];
    r[k] = p * v;
    for (Index j = 0; j < k; ++j) r[k] += phi[j] * r[k - 1 - j];
    if (slope) {
      d_r.row(k) = p * d_v.transpose();
      d_r(k, k) += v;
      for (Index j = 0; j < k; ++j) d_r.row(k) += d_phi.row(j) * r[k - 1 - j] + phi[j] * d_r.row(k - 1 - j);
      Matrix moved = d_phi.topRows(k) - p * d_phi.topRows(k).colwise().reverse();
      moved.col(k) -= phi.head(k).reverse();
      d_phi.topRows(k) = moved;
      d_phi(k, k) = 1;
      d_v *= (1 - p) * (1 + p);
      d_v[k] -= 2 * p * v;
    }
    const Vector before = phi.head(k);
    phi.head(k) -= p * before.reverse();
    phi[k] = p;
    v *= (1 - p) * (1 + p);
  }
  if (slope) *slope = d_r;
  return r;
}

}  // namespace galvi
