#include "numeric/dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "numeric/backend.h"
#include "numeric/parallel.h"

// Every triangular operation is a recursion on halves whose off-diagonal part is a product, so that nearly
// all flops are spent in the backend's `multiply`, whichever backend that is.
namespace galvi {
namespace {

// Approximate largest number of flops in one call of the backend: 0.1 s at 3 GFlop/s, which allows a poll
// every 0.2 s and is enough work not to reduce the speed.
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

// A lower triangle, cut into [first, 0; below, second].
template <typename Ref>
struct Halves {
  Halves(Ref A, Index size)
      : first(A.topLeftCorner(size, size)),
        below(A.bottomLeftCorner(A.rows() - size, size)),
        second(A.bottomRightCorner(A.rows() - size, A.rows() - size)) {}
  Ref first, below, second;
};

// A stretch of the rows or, if `rows` is false, of the columns.
ConstMatrixRef stretch(const ConstMatrixRef& A, bool rows, Index from, Index size) {
  return rows ? ConstMatrixRef(A.middleRows(from, size)) : ConstMatrixRef(A.middleCols(from, size));
}

// From this many flops on, a step is divided among threads.
// (Much smaller steps lose more than they gain when the other cores are busy.)
constexpr double kSharedStep = 1e8;

// One step of `product`. How it is divided depends on the sizes alone, and so do the results.
void product_step(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                  const ConstMatrixRef& B, double beta, MatrixRef C, double flops) {
  if (flops < kSharedStep) {
    context.backend.multiply(transpose_a, transpose_b, alpha, A, B, beta, C);
    return;
  }
  constexpr Index strips = 4;
  const bool by_rows = C.rows() > C.cols();
  const Index size = by_rows ? C.rows() : C.cols(), width = (size + 12 * strips - 1) / (12 * strips) * 12;
  parallel_for(context, (size + width - 1) / width, flops, [&](Index strip) {
    const Index from = strip * width, count = std::min(width, size - from);
    if (by_rows) {
      context.backend.multiply(transpose_a, transpose_b, alpha, stretch(A, !transpose_a, from, count), B,
                               beta, C.middleRows(from, count));
    } else {
      context.backend.multiply(transpose_a, transpose_b, alpha, A, stretch(B, transpose_b, from, count), beta,
                               C.middleCols(from, count));
    }
  });
}

// C <- beta C + alpha op(A) op(B), the largest of the three dimensions halved until a step is small enough.
void product(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
             const ConstMatrixRef& B, double beta, MatrixRef C) {
  const Index m = C.rows(), n = C.cols(), k = transpose_a ? A.rows() : A.cols();
  if (m == 0 || n == 0) return;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const Index largest = std::max({m, n, k});
  if (flops <= kStep || largest == 1) {
    product_step(context, transpose_a, transpose_b, alpha, A, B, beta, C, flops);
    spend(context, flops);
    return;
  }
  const Index h = half(largest), rest = largest - h;
  const auto go_on = [&](const ConstMatrixRef& A_part, const ConstMatrixRef& B_part, double factor,
                         MatrixRef C_part) {
    product(context, transpose_a, transpose_b, alpha, A_part, B_part, factor, C_part);
  };
  if (largest == m) {
    go_on(stretch(A, !transpose_a, 0, h), B, beta, C.topRows(h));
    go_on(stretch(A, !transpose_a, h, rest), B, beta, C.bottomRows(rest));
  } else if (largest == n) {
    go_on(A, stretch(B, transpose_b, 0, h), beta, C.leftCols(h));
    go_on(A, stretch(B, transpose_b, h, rest), beta, C.rightCols(rest));
  } else {
    go_on(stretch(A, transpose_a, 0, h), stretch(B, !transpose_b, 0, h), beta, C);
    go_on(stretch(A, transpose_a, h, rest), stretch(B, !transpose_b, h, rest), 1.0, C);
  }
}

// lower(C) <- beta C + alpha A A' (transpose false) or alpha A' A (transpose true).
void rank_k(Context& context, bool transpose, double alpha, const ConstMatrixRef& A, double beta,
            MatrixRef C) {
  const Index n = C.rows(), k = transpose ? A.rows() : A.cols();
  if (n == 0) return;
  const double flops = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(k);
  if (flops <= kSharedStep || std::max(n, k) == 1) {
    context.backend.rank_k(transpose, alpha, A, beta, C);
    spend(context, flops);
    return;
  }
  if (k > n) {
    const Index h = half(k);
    rank_k(context, transpose, alpha, stretch(A, transpose, 0, h), beta, C);
    rank_k(context, transpose, alpha, stretch(A, transpose, h, k - h), 1.0, C);
    return;
  }
  const Index h = half(n);
  Halves<MatrixRef> blocks(C, h);
  const ConstMatrixRef first = stretch(A, !transpose, 0, h), second = stretch(A, !transpose, h, n - h);
  rank_k(context, transpose, alpha, first, beta, blocks.first);
  product(context, transpose, !transpose, alpha, second, first, beta, blocks.below);
  rank_k(context, transpose, alpha, second, beta, blocks.second);
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
  const Halves<ConstMatrixRef> blocks(L, h);
  MatrixRef B1 = left ? MatrixRef(B.topRows(h)) : MatrixRef(B.leftCols(h));
  MatrixRef B2 = left ? MatrixRef(B.bottomRows(rest)) : MatrixRef(B.rightCols(rest));
  if (left != transpose) {
    solve(context, left, transpose, blocks.first, B1);
    if (left) {
      product(context, false, false, -1.0, blocks.below, B1, 1.0, B2);  // B2 - L21 B1
    } else {
      product(context, false, true, -1.0, B1, blocks.below, 1.0, B2);  // B2 - B1 L21'
    }
    solve(context, left, transpose, blocks.second, B2);
  } else {
    solve(context, left, transpose, blocks.second, B2);
    if (left) {
      product(context, true, false, -1.0, blocks.below, B2, 1.0, B1);  // B1 - L21' B2
    } else {
      product(context, false, false, -1.0, B2, blocks.below, 1.0, B1);  // B1 - B2 L21
    }
    solve(context, left, transpose, blocks.first, B1);
  }
}

// B <- alpha op(L) B.
void triangular_product(Context& context, bool transpose, double alpha, const ConstMatrixRef& L,
                        MatrixRef B) {
  const Index n = L.rows();
  if (B.size() == 0) return;
  if (n <= context.backend.leaf()) {
    over_free_dimension(context, true, n, B, [&](MatrixRef part) {
      context.backend.triangular_multiply(true, transpose, alpha, L, part);
    });
    return;
  }
  const Index h = half(n);
  const Halves<ConstMatrixRef> blocks(L, h);
  MatrixRef B1 = B.topRows(h), B2 = B.bottomRows(n - h);
  if (transpose) {  // L11' B1 + L21' B2, before B2 changes
    triangular_product(context, transpose, alpha, blocks.first, B1);
    product(context, true, false, alpha, blocks.below, B2, 1.0, B1);
    triangular_product(context, transpose, alpha, blocks.second, B2);
  } else {  // L21 B1 + L22 B2, before B1 changes
    triangular_product(context, transpose, alpha, blocks.second, B2);
    product(context, false, false, alpha, blocks.below, B1, 1.0, B2);
    triangular_product(context, transpose, alpha, blocks.first, B1);
  }
}

// Some libraries do not report a NaN or an infinity; either reaches the diagonal of its row.
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
  Halves<MatrixRef> blocks(A, half(n));
  if (!factorise(context, blocks.first)) return false;
  solve(context, false, true, blocks.first, blocks.below);         // L21 = A21 L11^-T
  rank_k(context, false, -1.0, blocks.below, 1.0, blocks.second);  // A22 - L21 L21'
  return factorise(context, blocks.second);
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
  Halves<MatrixRef> blocks(L, half(n));
  gram(context, sign, blocks.first);
  rank_k(context, true, sign, blocks.below, 1.0, blocks.first);          // L11' L11 + L21' L21
  triangular_product(context, true, sign, blocks.second, blocks.below);  // L22' L21
  gram(context, sign, blocks.second);
}

constexpr Index kTileRows = 256, kTileCols = 8;  // 16 kB: stays in the first cache while it is used twice
using Tile = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kTileRows, kTileCols>;

// Adds to y the contribution of columns [from, to) of a symmetric matrix's lower triangle, and of their
// mirror image, to its product with x. tile(i, j, rows, cols) is the block at (i, j), stored or computed.
template <typename TileAt>
void add_columns(Index from, Index to, const ConstVectorRef& x, const TileAt& tile, VectorRef y) {
  for (Index j = from; j < to; j += kTileCols) {
    const Index cols = std::min(kTileCols, to - j);
    y.segment(j, cols) += Tile(tile(j, j, cols, cols)).selfadjointView<Eigen::Lower>() * x.segment(j, cols);
    for (Index i = j + cols; i < x.size(); i += kTileRows) {
      const Index rows = std::min(kTileRows, x.size() - i);
      const auto& block = tile(i, j, rows, cols);
      y.segment(i, rows).noalias() += block * x.segment(j, cols);
      y.segment(j, cols).noalias() += block.transpose() * x.segment(i, rows);
    }
  }
}

// The columns are divided so that all threads read equally much, into a number of blocks that depends on the
// size alone; each has its own sum, and these are added in order. Below 2048 rows a product takes less than a
// millisecond, and threads gain nothing.
template <typename TileAt>
Vector symmetric_sum(Context& context, const ConstVectorRef& x, const TileAt& tile) {
  const Index n = x.size(), blocks = n < 2048 ? 1 : 8;
  const auto first_column = [&](Index block) {
    const double left = 1.0 - static_cast<double>(block) / static_cast<double>(blocks);
    return static_cast<Index>(static_cast<double>(n) * (1.0 - std::sqrt(left)));
  };
  Matrix parts = Matrix::Zero(n, blocks);
  parallel_for(context, blocks, static_cast<double>(n) * static_cast<double>(n), [&](Index block) {
    add_columns(first_column(block), first_column(block + 1), x, tile, parts.col(block));
  });
  return parts.rowwise().sum();
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

std::vector<Index> pivoted_cholesky(Matrix& A, double least, std::vector<Index>* rest, Monitor* monitor,
                                    Index in_order) {
  const Index n = A.rows();
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  Vector left = A.diagonal();
  const double enough = n > 0 ? least * left.maxCoeff() : 0;
  Index rank = 0;
  for (; rank < n; ++rank) {
    if (monitor && rank % 64 == 0) monitor->poll();
    Index best;
    double pivot = left.tail(n - rank).maxCoeff(&best);
    best += rank;
    if (rank < in_order) pivot = left[best = rank];
    if (!(pivot > (rank < in_order ? 0 : enough))) break;
    A.row(rank).swap(A.row(best));
    A.col(rank).swap(A.col(best));
    std::swap(left[rank], left[best]);
    std::swap(order[rank], order[best]);
    auto column = A.col(rank).tail(n - rank);
    column.noalias() -= A.block(rank, 0, n - rank, rank) * A.row(rank).head(rank).transpose();
    column /= std::sqrt(pivot);
    column[0] = std::sqrt(pivot);
    left.tail(n - rank - 1) -= column.tail(n - rank - 1).cwiseAbs2();
  }
  if (rest) rest->assign(order.begin() + rank, order.end());
  order.resize(rank);
  return order;
}

// A smooth covariance has no Cholesky factor at working precision. What pivoting leaves out is rounding
// error; jitter would change the covariance.
Matrix covariance_root(Context& context, Matrix A) {
  constexpr double nothing = 1e-15;
  Matrix L = A;
  if (cholesky(context, L)) {
    L.triangularView<Eigen::StrictlyUpper>().setZero();
    return L;
  }
  std::vector<Index> rest;
  std::vector<Index> order = pivoted_cholesky(A, nothing, &rest, &context.monitor);
  const Index rank = static_cast<Index>(order.size());
  order.insert(order.end(), rest.begin(), rest.end());
  A.triangularView<Eigen::StrictlyUpper>().setZero();
  Matrix out(A.rows(), rank);
  for (Index i = 0; i < A.rows(); ++i) out.row(order[i]) = A.row(i).head(rank);
  return out;
}

// Pivoted Cholesky, one column after the other. The remainder of a smooth covariance falls at least geometrically, and
// faster later on: what has not fallen far enough after a quarter or half of the columns will not get there.
LowRank low_rank_root(Context& context, const Vector& diagonal, const std::function<void(Index, VectorRef)>& column,
                      Index most) {
  constexpr double nothing = 2e-15, halfway = 1e-7, quarter = 1e-2;
  const Index n = diagonal.size();
  Vector left = diagonal;
  const double largest = n > 0 ? left.maxCoeff() : 0;
  LowRank out{Matrix(n, most / 4), largest, {}, {}};
  for (Index rank = 0;; ++rank) {
    Index next = 0;
    if (n > 0) out.left = left.maxCoeff(&next);
    if (!(out.left > nothing * largest)) {
      out.root.conservativeResize(n, rank);
      break;
    }
    if (rank == out.root.cols()) {
      const double fallen = rank == most ? nothing : rank == most / 2 ? halfway : quarter;
      if (out.left > fallen * largest) {
        out.root.resize(n, 0);
        out.pivots.clear();
        break;
      }
      out.root.conservativeResize(n, rank == most / 2 ? most : most / 2);
    }
    context.monitor.poll();
    auto own = out.root.col(rank);
    column(next, own);
    own.noalias() -= out.root.leftCols(rank) * out.root.row(next).head(rank).transpose();
    own /= std::sqrt(out.left);
    for (const Index earlier : out.pivots) own[earlier] = 0;
    own[next] = std::sqrt(out.left);
    left -= own.cwiseAbs2();
    left[next] = 0;
    out.pivots.push_back(next);
    spend(context, 2.0 * static_cast<double>(n) * static_cast<double>(rank + 2));
  }
  const Index rank = out.root.cols();
  out.chol.resize(rank, rank);
  for (Index i = 0; i < rank; ++i) out.chol.row(i) = out.root.row(out.pivots[i]);
  return out;
}

LowRank low_rank_root(Context& context, const ConstMatrixRef& A, Index most) {
  return low_rank_root(context, A.diagonal(), [&](Index i, VectorRef column) { column = A.col(i); }, most);
}

Matrix white_noise(Context& context, Index rows, Index columns) {
  constexpr Index between_polls = 1 << 20;
  Matrix out(rows, columns);
  const Index every = 1 + between_polls / (rows + 1);
  for (Index j = 0; j < columns; ++j) {
    if (j % every == 0) context.monitor.poll();
    for (Index i = 0; i < rows; ++i) out(i, j) = context.monitor.normal();
  }
  return out;
}

bool signed_cholesky(Context& context, MatrixRef A, Index positive) {
  context.cost.factorisations += 1;
  Halves<MatrixRef> blocks(A, positive);
  if (!factorise(context, blocks.first)) return false;
  solve(context, false, true, blocks.first, blocks.below);         // L21 = A21 L11^-T
  rank_k(context, false, 1.0, blocks.below, -1.0, blocks.second);  // L22 L22' = -(A22 - L21 L21')
  return factorise(context, blocks.second);
}

void invert_lower(Context& context, MatrixRef L) {
  const Index n = L.rows();
  if (n <= context.backend.leaf()) {
    if (n == 0) return;
    context.backend.invert(L);
    spend(context, cube(n) / 3.0);
    return;
  }
  Halves<MatrixRef> blocks(L, half(n));
  // -L22^-1 L21 L11^-1, with one factor inverted and one solved for, which has the smallest residual.
  invert_lower(context, blocks.second);
  triangular_product(context, false, -1.0, blocks.second, blocks.below);
  solve(context, false, false, blocks.first, blocks.below);
  invert_lower(context, blocks.first);
}

void invert_from_cholesky(Context& context, MatrixRef L, Index positive) {
  invert_lower(context, L);
  if (positive == L.rows()) {
    gram(context, 1.0, L);
    return;
  }
  // X' J X with X = L^-1: X11' X11 - X21' X21, -X22' X21, -X22' X22
  Halves<MatrixRef> blocks(L, positive);
  gram(context, 1.0, blocks.first);
  rank_k(context, true, -1.0, blocks.below, 1.0, blocks.first);
  triangular_product(context, true, -1.0, blocks.second, blocks.below);
  gram(context, -1.0, blocks.second);
}

void solve_lower(Context& context, const ConstMatrixRef& L, MatrixRef B) {
  solve(context, true, false, L, B);
}

void solve_lower_transposed(Context& context, const ConstMatrixRef& L, MatrixRef B) {
  solve(context, true, true, L, B);
}

void multiply(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
              const ConstMatrixRef& B, double beta, MatrixRef C) {
  product(context, transpose_a, transpose_b, alpha, A, B, beta, C);
}

// sqrt|d| W with the rows of positive d first: a difference of two squares
void add_weighted_crossproduct(const Backend& backend, const ConstMatrixRef& W, const ConstVectorRef& d,
                               MatrixRef C) {
  const Index n = W.rows();
  const Vector scale = d.cwiseAbs().cwiseSqrt();
  const Index positive = (d.array() >= 0).count();
  std::vector<Index> place(n);
  for (Index i = 0, up = 0, down = positive; i < n; ++i) place[i] = d[i] >= 0 ? up++ : down++;
  Matrix sorted(n, W.cols());
  for (Index j = 0; j < W.cols(); ++j)
    for (Index i = 0; i < n; ++i) sorted(place[i], j) = scale[i] * W(i, j);
  if (positive > 0) backend.rank_k(true, 1.0, sorted.topRows(positive), 1.0, C);
  if (positive < n) backend.rank_k(true, -1.0, sorted.bottomRows(n - positive), 1.0, C);
}

void add_crossproduct(Context& context, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C) {
  rank_k(context, true, alpha, A, beta, C);
}

Vector symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.0);
  return symmetric_sum(context, x,
                       [&](Index i, Index j, Index rows, Index cols) { return A.block(i, j, rows, cols); });
}

Vector squared_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.5);
  return symmetric_sum(context, x, [&](Index i, Index j, Index rows, Index cols) -> Tile {
    return A.block(i, j, rows, cols).cwiseAbs2();
  });
}

Vector hadamard_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstMatrixRef& B,
                                  const ConstVectorRef& x) {
  count_product(context, A.rows(), 2.5);
  return symmetric_sum(context, x, [&](Index i, Index j, Index rows, Index cols) -> Tile {
    return A.block(i, j, rows, cols).cwiseProduct(B.block(i, j, rows, cols));
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
