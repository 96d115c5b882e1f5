#include "numeric/dense.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "numeric/backend.h"

// Every triangular operation is a recursion on halves whose off-diagonal part is a product, so that nearly all
// flops are spent in the backend's `multiply`, whichever backend that is.
namespace galvi {
namespace {

// One call of the backend has at most about this many flops: 0.1 s at 3 GFlop/s, which leaves room for a poll
// every 0.2 s, and enough work not to be felt in the speed.
constexpr double kStep = 3e8;

// Counts, and polls whenever the count passes a multiple of kStep.
void spend(Context& context, double flops) {
  const double before = context.cost.flops;
  context.cost.flops += flops;
  if (std::floor(before / kStep) != std::floor(context.cost.flops / kStep)) context.monitor.poll();
}

double cube(Index n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// Size of the first half; rounded so that the blocks of all levels begin on a multiple of 64.
Index half(Index n) { return n <= 128 ? n / 2 : (n / 2 + 63) / 64 * 64; }

// C <- beta C + alpha op(A) op(B), the largest of the three dimensions halved until a step is small enough.
void product(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
             const ConstMatrixRef& B, double beta, MatrixRef C) {
  const Index m = C.rows(), n = C.cols(), k = transpose_a ? A.rows() : A.cols();
  if (m == 0 || n == 0) return;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Index largest = std::max({m, n, k});
  if (flops <= kStep || largest == 1) {
    context.backend.multiply(transpose_a, transpose_b, alpha, A, B, beta, C);
    spend(context, flops);
    return;
  }
  const Index h = half(largest), rest = largest - h;
  const auto rows_a = [&](Index from, Index size) {  // rows of op(A)
    return transpose_a ? ConstMatrixRef(A.middleCols(from, size)) : ConstMatrixRef(A.middleRows(from, size));
  };
  const auto cols_b = [&](Index from, Index size) {  // columns of op(B)
    return transpose_b ? ConstMatrixRef(B.middleRows(from, size)) : ConstMatrixRef(B.middleCols(from, size));
  };
  if (largest == m) {
    product(context, transpose_a, transpose_b, alpha, rows_a(0, h), B, beta, C.topRows(h));
    product(context, transpose_a, transpose_b, alpha, rows_a(h, rest), B, beta, C.bottomRows(rest));
  } else if (largest == n) {
    product(context, transpose_a, transpose_b, alpha, A, cols_b(0, h), beta, C.leftCols(h));
    product(context, transpose_a, transpose_b, alpha, A, cols_b(h, rest), beta, C.rightCols(rest));
  } else {
    const auto cols_a = [&](Index from, Index size) {
      return transpose_a ? ConstMatrixRef(A.middleRows(from, size)) : ConstMatrixRef(A.middleCols(from, size));
    };
    const auto rows_b = [&](Index from, Index size) {
      return transpose_b ? ConstMatrixRef(B.middleCols(from, size)) : ConstMatrixRef(B.middleRows(from, size));
    };
    product(context, transpose_a, transpose_b, alpha, cols_a(0, h), rows_b(0, h), beta, C);
    product(context, transpose_a, transpose_b, alpha, cols_a(h, rest), rows_b(h, rest), 1.0, C);
  }
}

// lower(C) <- beta C + alpha A A' or alpha A' A.
void rank_k(Context& context, bool transpose, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C) {
  const Index n = C.rows(), k = transpose ? A.rows() : A.cols();
  if (n == 0) return;
  const double flops = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
  if (flops <= kStep || std::max(n, k) == 1) {
    context.backend.rank_k(transpose, alpha, A, beta, C);
    spend(context, flops);
    return;
  }
  const auto part = [&](bool rows, Index from, Index size) {
    return rows ? ConstMatrixRef(A.middleRows(from, size)) : ConstMatrixRef(A.middleCols(from, size));
  };
  if (k > n) {
    const Index h = half(k);
    rank_k(context, transpose, alpha, part(transpose, 0, h), beta, C);
    rank_k(context, transpose, alpha, part(transpose, h, k - h), 1.0, C);
  } else {
    const Index h = half(n), rest = n - h;
    const ConstMatrixRef first = part(!transpose, 0, h), second = part(!transpose, h, rest);
    rank_k(context, transpose, alpha, first, beta, C.topLeftCorner(h, h));
    product(context, transpose, !transpose, alpha, second, first, beta, C.bottomLeftCorner(rest, h));
    rank_k(context, transpose, alpha, second, beta, C.bottomRightCorner(rest, rest));
  }
}

// Calls body(block of B) on blocks of B's free dimension (columns if `left`), each a step of work.
template <typename Body>
void over_free_dimension(Context& context, bool left, Index n, MatrixRef B, const Body& body) {
  const double flops_per_vector = static_cast<double>(n) * static_cast<double>(n);
  const Index vectors = left ? B.cols() : B.rows();
  const Index block = std::max<Index>(16, static_cast<Index>(kStep / flops_per_vector));
  for (Index from = 0; from < vectors; from += block) {
    const Index size = std::min(block, vectors - from);
    body(left ? MatrixRef(B.middleCols(from, size)) : MatrixRef(B.middleRows(from, size)));
    spend(context, flops_per_vector * static_cast<double>(size));
  }
}

// B <- op(L)^-1 B (left) or B op(L)^-1 (right).
void solve(Context& context, bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) {
  const Index n = L.rows();
  if (B.size() == 0) return;
  if (n <= context.backend.leaf()) {
    over_free_dimension(context, left, n, B,
                        [&](MatrixRef part) { context.backend.solve(left, transpose, L, part); });
    return;
  }
  const Index h = half(n), rest = n - h;
  const ConstMatrixRef L11 = L.topLeftCorner(h, h), L21 = L.bottomLeftCorner(rest, h),
                       L22 = L.bottomRightCorner(rest, rest);
  MatrixRef B1 = left ? MatrixRef(B.topRows(h)) : MatrixRef(B.leftCols(h));
  MatrixRef B2 = left ? MatrixRef(B.bottomRows(rest)) : MatrixRef(B.rightCols(rest));
  if (left != transpose) {
    solve(context, left, transpose, L11, B1);
    // B2 <- B2 - L21 B1 (left) or B2 - B1 L21' (right)
    if (left) product(context, false, false, -1.0, L21, B1, 1.0, B2);
    else product(context, false, true, -1.0, B1, L21, 1.0, B2);
    solve(context, left, transpose, L22, B2);
  } else {
    solve(context, left, transpose, L22, B2);
    // B1 <- B1 - L21' B2 (left) or B1 - B2 L21 (right)
    if (left) product(context, true, false, -1.0, L21, B2, 1.0, B1);
    else product(context, false, false, -1.0, B2, L21, 1.0, B1);
    solve(context, left, transpose, L11, B1);
  }
}

// B <- alpha op(L) B.
void triangular_product(Context& context, bool transpose, double alpha, const ConstMatrixRef& L, MatrixRef B) {
  const Index n = L.rows();
  if (B.size() == 0) return;
  if (n <= context.backend.leaf()) {
    over_free_dimension(context, true, n, B, [&](MatrixRef part) {
      context.backend.triangular_multiply(true, transpose, alpha, L, part);
    });
    return;
  }
  const Index h = half(n), rest = n - h;
  const ConstMatrixRef L11 = L.topLeftCorner(h, h), L21 = L.bottomLeftCorner(rest, h),
                       L22 = L.bottomRightCorner(rest, rest);
  MatrixRef B1 = B.topRows(h), B2 = B.bottomRows(rest);
  if (transpose) {  // B1 <- L11' B1 + L21' B2 before B2 changes
    triangular_product(context, transpose, alpha, L11, B1);
    product(context, true, false, alpha, L21, B2, 1.0, B1);
    triangular_product(context, transpose, alpha, L22, B2);
  } else {  // B2 <- L21 B1 + L22 B2 before B1 changes
    triangular_product(context, transpose, alpha, L22, B2);
    product(context, false, false, alpha, L21, B1, 1.0, B2);
    triangular_product(context, transpose, alpha, L11, B1);
  }
}

// Some libraries let a NaN or an infinity pass; either reaches the diagonal of its row.
bool has_proper_diagonal(const ConstMatrixRef& L) {
  for (Index i = 0; i < L.rows(); ++i) {
    if (!(L(i, i) > 0.0) || !std::isfinite(L(i, i))) return false;
  }
  return true;
}

bool factorise(Context& context, MatrixRef A) {
  const Index n = A.rows();
  if (n == 0) return true;
  if (n <= context.backend.leaf()) {
    const bool done = context.backend.cholesky(A) && has_proper_diagonal(A);
    spend(context, cube(n) / 3.0);
    return done;
  }
  const Index h = half(n), rest = n - h;
  MatrixRef A11 = A.topLeftCorner(h, h), A21 = A.bottomLeftCorner(rest, h), A22 = A.bottomRightCorner(rest, rest);
  if (!factorise(context, A11)) return false;
  solve(context, false, true, A11, A21);          // L21 = A21 L11^-T
  rank_k(context, false, -1.0, A21, 1.0, A22);    // A22 - L21 L21'
  return factorise(context, A22);
}

// L <- sign lower(L' L).
void gram(Context& context, double sign, MatrixRef L) {
  const Index n = L.rows();
  if (n <= context.backend.leaf()) {
    if (n == 0) return;
    context.backend.gram(L);
    if (sign < 0.0) L.triangularView<Eigen::Lower>() = -L;
    spend(context, cube(n) / 3.0);
    return;
  }
  const Index h = half(n), rest = n - h;
  MatrixRef L11 = L.topLeftCorner(h, h), L21 = L.bottomLeftCorner(rest, h), L22 = L.bottomRightCorner(rest, rest);
  gram(context, sign, L11);
  rank_k(context, true, sign, L21, 1.0, L11);             // L11' L11 + L21' L21
  triangular_product(context, true, sign, L22, L21);      // L22' L21
  gram(context, sign, L22);
}

// y <- sum over the stored triangle of f(A) x, where f is applied to each column's part once for both uses.
// `column(j)` is an array expression for the entries below the diagonal of column j.
template <typename Column, typename Diagonal>
Vector symmetric_sum(const ConstVectorRef& x, const Diagonal& diagonal, const Column& column) {
  const Index n = x.size();
  Vector y = Vector::Zero(n);
  for (Index j = 0; j < n; ++j) {
    const Index below = n - j - 1;
    y.tail(below).array() += column(j) * x[j];
    y[j] += diagonal(j) * x[j] + (column(j) * x.tail(below).array()).sum();
  }
  return y;
}

void count_product(Context& context, Index n, double flops_per_entry) {
  context.cost.products += 1;
  spend(context, flops_per_entry * static_cast<double>(n) * static_cast<double>(n));
}

}  // namespace

bool cholesky(Context& context, MatrixRef A) {
  context.cost.factorisations += 1;
  return factorise(context, A);
}

double cholesky_with_jitter(Context& context, MatrixRef A) {
  context.cost.factorisations += 1;
  const Index n = A.rows();
  const Matrix original = A;
  if (factorise(context, A)) return 0.0;
  const double scale = original.diagonal().mean();
  if (std::isfinite(scale) && scale > 0.0) {
    for (double relative = 1e-10; relative < 2e-4; relative *= 10.0) {
      A.triangularView<Eigen::Lower>() = original;
      A.diagonal().array() += relative * scale;
      if (factorise(context, A)) return relative * scale;
    }
  }
  std::ostringstream message;
  message << "a " << n << " x " << n << " matrix (mean diagonal " << scale
          << ") is not positive definite, even with 1e-4 of that added to its diagonal";
  throw std::domain_error(message.str());
}

bool signed_cholesky(Context& context, MatrixRef A, Index positive) {
  context.cost.factorisations += 1;
  const Index negative = A.rows() - positive;
  MatrixRef A11 = A.topLeftCorner(positive, positive), A21 = A.bottomLeftCorner(negative, positive),
            A22 = A.bottomRightCorner(negative, negative);
  if (!factorise(context, A11)) return false;
  solve(context, false, true, A11, A21);           // L21 = A21 L11^-T
  rank_k(context, false, 1.0, A21, -1.0, A22);     // L22 L22' = -(A22 - L21 L21')
  return factorise(context, A22);
}

void invert_lower(Context& context, MatrixRef L) {
  const Index n = L.rows();
  if (n <= context.backend.leaf()) {
    if (n == 0) return;
    context.backend.invert(L);
    spend(context, cube(n) / 3.0);
    return;
  }
  const Index h = half(n), rest = n - h;
  MatrixRef L11 = L.topLeftCorner(h, h), L21 = L.bottomLeftCorner(rest, h), L22 = L.bottomRightCorner(rest, rest);
  // -L22^-1 L21 L11^-1, one factor inverted and one not, as the residual is smallest so.
  invert_lower(context, L22);
  triangular_product(context, false, -1.0, L22, L21);
  solve(context, false, false, L11, L21);
  invert_lower(context, L11);
}

void invert_from_cholesky(Context& context, MatrixRef L, Index positive) {
  invert_lower(context, L);
  const Index n = L.rows(), negative = n - positive;
  if (negative == 0) {
    gram(context, 1.0, L);
    return;
  }
  // X' J X with X = L^-1: X11' X11 - X21' X21, -X22' X21, -X22' X22
  MatrixRef X11 = L.topLeftCorner(positive, positive), X21 = L.bottomLeftCorner(negative, positive),
            X22 = L.bottomRightCorner(negative, negative);
  gram(context, 1.0, X11);
  rank_k(context, true, -1.0, X21, 1.0, X11);
  triangular_product(context, true, -1.0, X22, X21);
  gram(context, -1.0, X22);
}

void solve_lower(Context& context, const ConstMatrixRef& L, MatrixRef B) { solve(context, true, false, L, B); }

void solve_lower_transposed(Context& context, const ConstMatrixRef& L, MatrixRef B) {
  solve(context, true, true, L, B);
}

void multiply(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
              const ConstMatrixRef& B, double beta, MatrixRef C) {
  product(context, transpose_a, transpose_b, alpha, A, B, beta, C);
}

void add_crossproduct(Context& context, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C) {
  rank_k(context, true, alpha, A, beta, C);
}

Vector symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.0);
  return A.selfadjointView<Eigen::Lower>() * x;
}

Vector squared_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.5);
  return symmetric_sum(
      x, [&](Index j) { return A(j, j) * A(j, j); },
      [&](Index j) { return A.col(j).tail(A.rows() - j - 1).array().square(); });
}

Vector hadamard_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstMatrixRef& B,
                                  const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.5);
  return symmetric_sum(
      x, [&](Index j) { return A(j, j) * B(j, j); },
      [&](Index j) {
        const Index below = A.rows() - j - 1;
        return A.col(j).tail(below).array() * B.col(j).tail(below).array();
      });
}

void fill_upper(MatrixRef A) {
  constexpr Index tile = 32;  // both the rows and the columns of a tile stay in the first cache
  const Index n = A.rows();
  for (Index from_j = 0; from_j < n; from_j += tile) {
    for (Index from_i = from_j; from_i < n; from_i += tile) {
      const Index rows = std::min(tile, n - from_i), cols = std::min(tile, n - from_j);
      if (from_i == from_j) {
        A.block(from_i, from_j, rows, cols).triangularView<Eigen::StrictlyUpper>() =
            A.block(from_i, from_j, rows, cols).transpose();
      } else {
        A.block(from_j, from_i, cols, rows) = A.block(from_i, from_j, rows, cols).transpose();
      }
    }
  }
}

}  // namespace galvi
