// What the recursions of a chain (solver/chain.cpp) do with states and their d x d matrices: FixedStates<d> for few
// states, whose loops the compiler unrolls, BlockStates for many, whose transitions are block diagonal. Both have the
// same functions, work in place and allocate nothing but their scratch when they are made.
//
// Matrices are d x d by columns, and symmetric unless a function says otherwise. A and Q, the steps of the chain, are
// block diagonal and stored block by block ("packed").
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "numeric/types.h"

// The loops below have a few steps each, known to the compiler, which does not unroll them by itself at -O2.
#if defined(__GNUC__) && !defined(__clang__)
#define GALVI_UNROLL _Pragma("GCC unroll 9")
#else
#define GALVI_UNROLL
#endif

namespace galvi {

/// d states, d <= 3, as one block.
template <int D>
class FixedStates {
 public:
  using Vec = std::array<double, D>;
  using Mat = std::array<double, D * D>;

  explicit FixedStates(const std::vector<Index>& /*blocks*/) {}
  static constexpr Index dimension() { return D; }
  static constexpr Index packed() { return D * D; }
  static Vec vector() { return {}; }
  static Mat matrix() { return {}; }

  static double dot(const double* x, const double* y) {
    double sum = x[0] * y[0];
    GALVI_UNROLL
    for (int i = 1; i < D; ++i) sum += x[i] * y[i];
    return sum;
  }
  /// y += c x
  static void add(double c, const double* x, double* y) {
    GALVI_UNROLL
    for (int i = 0; i < D; ++i) y[i] += c * x[i];
  }
  /// out = a x + b y, which may be one of them.
  static void combine(double a, const double* x, double b, const double* y, double* out) {
    GALVI_UNROLL
    for (int i = 0; i < D; ++i) out[i] = a * x[i] + b * y[i];
  }
  /// y = X x; the second for any X: X'x.
  static void multiply(const Mat& X, const double* x, double* y) { multiply_transposed(X, x, y); }
  static void multiply_transposed(const Mat& X, const double* x, double* y) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) y[j] = dot(&X[D * j], x);
  }
  /// X += x y' + y x'
  static void add_cross(const double* x, const double* y, Mat& X) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) X[i + D * j] += x[i] * y[j] + y[i] * x[j];
    }
  }
  /// X += c x y', of any shape.
  static void add_outer(double c, const double* x, const double* y, Mat& X) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) X[i + D * j] += c * x[i] * y[j];
    }
  }
  /// x <- A x and A'x.
  static void carry_state(const double* A, Vec& x) {
    const Vec from = x;
    GALVI_UNROLL
    for (int i = 0; i < D; ++i) {
      x[i] = A[i] * from[0];
      GALVI_UNROLL
      for (int k = 1; k < D; ++k) x[i] += A[i + D * k] * from[k];
    }
  }
  static void carry_state_back(const double* A, Vec& x) {
    const Vec from = x;
    GALVI_UNROLL
    for (int i = 0; i < D; ++i) x[i] = dot(A + D * i, from.data());
  }
  /// X <- A X A' and A'X A.
  static void carry(const double* A, Mat& X) {
    Mat AX;
    product(A, X, AX);
    lower(X, [&](int i, int j) { return along(&AX[i], A + j); });
  }
  static void carry_back(const double* A, Mat& X) {
    Mat XA;
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) XA[i + D * j] = dot(&X[D * i], A + D * j);
    }
    lower(X, [&](int i, int j) { return dot(A + D * i, &XA[D * j]); });
  }
  /// X <- A X A' for any X.
  static void carry_any(const double* A, Mat& X) {
    Mat AX;
    product(A, X, AX);
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) X[i + D * j] = along(&AX[i], A + j);
    }
  }
  /// The diagonal blocks of a matrix, packed.
  static void pack(const double* X, double* out) { std::copy(X, X + D * D, out); }
  /// X += Q
  static void add_packed(const double* Q, Mat& X) {
    GALVI_UNROLL
    for (int k = 0; k < D * D; ++k) X[k] += Q[k];
  }
  /// y = Q x
  static void multiply_packed(const double* Q, const double* x, double* y) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) y[j] = dot(Q + D * j, x);
  }
  /// The diagonal blocks of c X and of c x y' are added to out.
  static void add_blocks(double c, const Mat& X, double* out) {
    GALVI_UNROLL
    for (int k = 0; k < D * D; ++k) out[k] += c * X[k];
  }
  static void add_blocks(double c, const double* x, const double* y, double* out) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) out[i + D * j] += c * x[i] * y[j];
    }
  }
  /// The same for c N A F.
  static void add_blocks(double c, const Mat& N, const double* A, const Mat& F, double* out) {
    Mat AF;
    product(A, F, AF);
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) out[i + D * j] += c * dot(&N[D * i], &AF[D * j]);
    }
  }

 private:
  /// Of two rows.
  static double along(const double* x, const double* y) {
    double sum = x[0] * y[0];
    GALVI_UNROLL
    for (int k = 1; k < D; ++k) sum += x[D * k] * y[D * k];
    return sum;
  }
  static void product(const double* A, const Mat& X, Mat& out) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = 0; i < D; ++i) {
        out[i + D * j] = A[i] * X[D * j];
        GALVI_UNROLL
        for (int k = 1; k < D; ++k) out[i + D * j] += A[i + D * k] * X[k + D * j];
      }
    }
  }
  template <class Entry>
  static void lower(Mat& X, const Entry& entry) {
    GALVI_UNROLL
    for (int j = 0; j < D; ++j) {
      GALVI_UNROLL
      for (int i = j; i < D; ++i) X[i + D * j] = X[j + D * i] = entry(i, j);
    }
  }
};

/// Any number of states in blocks of these sizes.
class BlockStates {
 public:
  using Vec = std::vector<double>;
  using Mat = std::vector<double>;

  explicit BlockStates(const std::vector<Index>& blocks)
      : sizes_(blocks), d_(std::accumulate(blocks.begin(), blocks.end(), Index(0))), half_(d_ * d_), from_(d_) {
    for (const Index size : sizes_) packed_ += size * size;
  }
  Index dimension() const { return d_; }
  Index packed() const { return packed_; }
  Vec vector() const { return Vec(d_, 0.0); }
  Mat matrix() const { return Mat(d_ * d_, 0.0); }

  double dot(const double* x, const double* y) const { return of(x).dot(of(y)); }
  void add(double c, const double* x, double* y) const { of(y) += c * of(x); }
  void combine(double a, const double* x, double b, const double* y, double* out) const {
    of(out) = a * of(x) + b * of(y);
  }
  void multiply(const Mat& X, const double* x, double* y) const {
    of(y).setZero();
    for (Index j = 0; j < d_; ++j)  // many of the states are not observed
      if (x[j] != 0) of(y) += x[j] * of(&X[d_ * j]);
  }
  void multiply_transposed(const Mat& X, const double* x, double* y) const {
    for (Index j = 0; j < d_; ++j) y[j] = dot(&X[d_ * j], x);
  }
  void add_cross(const double* x, const double* y, Mat& X) const {
    for (Index j = 0; j < d_; ++j) of(&X[d_ * j]) += y[j] * of(x) + x[j] * of(y);
  }
  void add_outer(double c, const double* x, const double* y, Mat& X) const {
    for (Index j = 0; j < d_; ++j)
      if (y[j] != 0) of(&X[d_ * j]) += c * y[j] * of(x);
  }
  void carry_state(const double* A, Vec& x) {
    each_block(A, [&](auto size, Index at, const double* own) {
      using Part = Eigen::Matrix<double, decltype(size)::value, 1>;
      Eigen::Map<Part>(&from_[at], size.count) = Eigen::Map<const Part>(&x[at], size.count);
      Eigen::Map<Part>(&x[at], size.count).noalias() =
          block(size, own).lazyProduct(Eigen::Map<const Part>(&from_[at], size.count));
    });
  }
  void carry_state_back(const double* A, Vec& x) {
    each_block(A, [&](auto size, Index at, const double* own) {
      using Part = Eigen::Matrix<double, decltype(size)::value, 1>;
      Eigen::Map<Part>(&from_[at], size.count) = Eigen::Map<const Part>(&x[at], size.count);
      Eigen::Map<Part>(&x[at], size.count).noalias() =
          block(size, own).transpose().lazyProduct(Eigen::Map<const Part>(&from_[at], size.count));
    });
  }
  // X A' by columns, then A (X A') by rows: of a symmetric matrix those on the diagonal and to the right of it.
  void carry(const double* A, Mat& X) {
    times_transpose(A, X);
    each_block(A, [&](auto size, Index at, const double* own) {
      rows(size, X.data(), at, at).noalias() = block(size, own).lazyProduct(rows(size, half_.data(), at, at));
    });
    mirror(X);
  }
  void carry_back(const double* A, Mat& X) {
    times(A, X);
    each_block(A, [&](auto size, Index at, const double* own) {
      rows(size, X.data(), at, at).noalias() =
          block(size, own).transpose().lazyProduct(rows(size, half_.data(), at, at));
    });
    mirror(X);
  }
  void carry_any(const double* A, Mat& X) {
    times_transpose(A, X);
    each_block(A, [&](auto size, Index at, const double* own) {
      rows(size, X.data(), at, 0).noalias() = block(size, own).lazyProduct(rows(size, half_.data(), at, 0));
    });
  }
  void pack(const double* X, double* out) const {
    for_entries([&](Index i, Index j, Index k) { out[k] = X[i + d_ * j]; });
  }
  void add_packed(const double* Q, Mat& X) const {
    for_entries([&](Index i, Index j, Index k) { X[i + d_ * j] += Q[k]; });
  }
  void multiply_packed(const double* Q, const double* x, double* y) const {
    of(y).setZero();
    for_entries([&](Index i, Index j, Index k) { y[i] += Q[k] * x[j]; });
  }
  void add_blocks(double c, const Mat& X, double* out) const {
    for_entries([&](Index i, Index j, Index k) { out[k] += c * X[i + d_ * j]; });
  }
  void add_blocks(double c, const double* x, const double* y, double* out) const {
    for_entries([&](Index i, Index j, Index k) { out[k] += c * x[i] * y[j]; });
  }
  void add_blocks(double c, const Mat& N, const double* A, const Mat& F, double* out) {
    times(A, N);
    for (Index j = 0; j < d_; ++j)
      for (Index i = 0; i < j; ++i) std::swap(half_[i + d_ * j], half_[j + d_ * i]);
    for_entries([&](Index i, Index j, Index k) { out[k] += c * dot(&half_[d_ * i], &F[d_ * j]); });
  }

 private:
  using Map = Eigen::Map<Vector>;
  using ConstMap = Eigen::Map<const Vector>;
  Map of(double* x) const { return Map(x, d_); }
  ConstMap of(const double* x) const { return ConstMap(x, d_); }

  /// The size of a block, as a type where it is small.
  template <int B>
  struct Size {
    static constexpr int value = B;
    Index count;
  };
  template <class Visit>
  void each_block(const double* packed, const Visit& visit) const {
    Index at = 0;
    for (const Index size : sizes_) {
      switch (size) {
        case 1: visit(Size<1>{1}, at, packed); break;
        case 2: visit(Size<2>{2}, at, packed); break;
        case 3: visit(Size<3>{3}, at, packed); break;
        case 4: visit(Size<4>{4}, at, packed); break;
        default: visit(Size<Eigen::Dynamic>{size}, at, packed);
      }
      at += size;
      packed += size * size;
    }
  }
  /// visit(i, j, where it is stored) for the entries of the diagonal blocks.
  template <class Visit>
  void for_entries(const Visit& visit) const {
    Index at = 0, k = 0;
    for (const Index size : sizes_) {
      for (Index j = at; j < at + size; ++j)
        for (Index i = at; i < at + size; ++i) visit(i, j, k++);
      at += size;
    }
  }
  template <int B>
  static Eigen::Map<const Eigen::Matrix<double, B, B>> block(Size<B> size, const double* own) {
    return {own, size.count, size.count};
  }
  /// The rows of a block from column `first` on. One row is no vector of Eigen's here, whose stride would be another.
  template <int B>
  using Rows = Eigen::Map<Eigen::Matrix<double, B == 1 ? Eigen::Dynamic : B, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;
  template <int B>
  Rows<B> rows(Size<B> size, double* X, Index at, Index first) const {
    return {X + at + d_ * first, size.count, d_ - first, Eigen::OuterStride<>(d_)};
  }
  template <int B>
  Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, B>> columns(Size<B> size, const double* X, Index at) const {
    return {X + d_ * at, d_, size.count};
  }
  template <int B>
  Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, B>> columns(Size<B> size, double* X, Index at) const {
    return {X + d_ * at, d_, size.count};
  }
  /// half = X A' and X A.
  void times_transpose(const double* A, const Mat& X) {
    each_block(A, [&](auto size, Index at, const double* own) {
      columns(size, half_.data(), at).noalias() =
          columns(size, X.data(), at).lazyProduct(block(size, own).transpose());
    });
  }
  void times(const double* A, const Mat& X) {
    each_block(A, [&](auto size, Index at, const double* own) {
      columns(size, half_.data(), at).noalias() = columns(size, X.data(), at).lazyProduct(block(size, own));
    });
  }
  void mirror(Mat& X) const {
    for (Index j = 0; j < d_; ++j)
      for (Index i = 0; i < j; ++i) X[j + d_ * i] = X[i + d_ * j];
  }

  std::vector<Index> sizes_;
  Index d_, packed_ = 0;
  Mat half_;
  Vec from_;
};

}  // namespace galvi
