#include "numeric/backend_eigen.h"

#include "numeric/product_avx2.h"

namespace galvi {
namespace {

template <typename Target>
void scale(double beta, Target&& target) {
  if (beta == 0.0) {
    target.setZero();  // not a product: the target may contain NaN
  } else if (beta != 1.0) {
    target *= beta;
  }
}

}  // namespace

void EigenBackend::multiply(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                            const ConstMatrixRef& B, double beta, MatrixRef C) const {
  scale(beta, C);
  if (A.size() == 0) return;  // Eigen would divide by the empty dimension
  if (wide_ && C.rows() >= 8 && C.cols() >= 4) {
    add_product_avx2(transpose_a, transpose_b, alpha, A, B, C);
  } else if (transpose_a && transpose_b) {
    C.noalias() += alpha * A.transpose() * B.transpose();
  } else if (transpose_a) {
    C.noalias() += alpha * A.transpose() * B;
  } else if (transpose_b) {
    C.noalias() += alpha * A * B.transpose();
  } else {
    C.noalias() += alpha * A * B;
  }
}

void EigenBackend::rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta,
                          MatrixRef C) const {
  const Index n = C.rows(), h = n / 2 / 12 * 12;
  const auto part = [&](Index from, Index count) {
    return transpose ? ConstMatrixRef(A.middleCols(from, count)) : ConstMatrixRef(A.middleRows(from, count));
  };
  if (n > 64) {
    rank_k(transpose, alpha, part(0, h), beta, C.topLeftCorner(h, h));
    multiply(transpose, !transpose, alpha, part(h, n - h), part(0, h), beta, C.bottomLeftCorner(n - h, h));
    rank_k(transpose, alpha, part(h, n - h), beta, C.bottomRightCorner(n - h, n - h));
    return;
  }
  Matrix square(n, n);
  multiply(transpose, !transpose, alpha, A, A, 0.0, square);
  for (Index j = 0; j < n; ++j) {
    scale(beta, C.col(j).tail(n - j));
    C.col(j).tail(n - j) += square.col(j).tail(n - j);
  }
}

void EigenBackend::solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const {
  const auto lower = L.triangularView<Eigen::Lower>();
  if (left && transpose) {
    lower.transpose().solveInPlace(B);
  } else if (left) {
    lower.solveInPlace(B);
  } else if (transpose) {
    lower.transpose().solveInPlace<Eigen::OnTheRight>(B);
  } else {
    lower.solveInPlace<Eigen::OnTheRight>(B);
  }
}

void EigenBackend::triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                                       MatrixRef B) const {
  const Index n = L.rows();
  if (n <= leaf()) {
    triangular_leaf(left, transpose, alpha, L, B);
    return;
  }
  const Index h = n / 2, rest = n - h;
  const ConstMatrixRef L11 = L.topLeftCorner(h, h), L21 = L.bottomLeftCorner(rest, h),
                       L22 = L.bottomRightCorner(rest, rest);
  MatrixRef B1 = left ? MatrixRef(B.topRows(h)) : MatrixRef(B.leftCols(h));
  MatrixRef B2 = left ? MatrixRef(B.bottomRows(rest)) : MatrixRef(B.rightCols(rest));
  if (left != transpose) {  // L21 B1 + L22 B2 (left) or B1 L21' + B2 L22', before B1 changes
    triangular_multiply(left, transpose, alpha, L22, B2);
    if (left) {
      multiply(false, false, alpha, L21, B1, 1.0, B2);
    } else {
      multiply(false, true, alpha, B1, L21, 1.0, B2);
    }
    triangular_multiply(left, transpose, alpha, L11, B1);
  } else {  // L11' B1 + L21' B2 (left) or B1 L11 + B2 L21, before B2 changes
    triangular_multiply(left, transpose, alpha, L11, B1);
    if (left) {
      multiply(true, false, alpha, L21, B2, 1.0, B1);
    } else {
      multiply(false, false, alpha, B2, L21, 1.0, B1);
    }
    triangular_multiply(left, transpose, alpha, L22, B2);
  }
}

void EigenBackend::triangular_leaf(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                                   MatrixRef B) const {
  const auto lower = L.triangularView<Eigen::Lower>();
  const Matrix old = alpha * B;
  if (left && transpose) {
    B.noalias() = lower.transpose() * old;
  } else if (left) {
    B.noalias() = lower * old;
  } else if (transpose) {
    B.noalias() = old * lower.transpose();
  } else {
    B.noalias() = old * lower;
  }
}

bool EigenBackend::cholesky(MatrixRef A) const {
  const Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> factor(A);  // in place
  return factor.info() == Eigen::Success;
}

void EigenBackend::invert(MatrixRef L) const {
  Matrix inverse = Matrix::Identity(L.rows(), L.cols());
  L.triangularView<Eigen::Lower>().solveInPlace(inverse);
  L.triangularView<Eigen::Lower>() = inverse;
}

void EigenBackend::gram(MatrixRef L) const {
  const Matrix lower = L.triangularView<Eigen::Lower>();
  L.triangularView<Eigen::Lower>() = lower.transpose() * lower;
}

}  // namespace galvi
