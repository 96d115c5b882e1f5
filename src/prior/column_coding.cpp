#include "prior/column_coding.h"

#include <algorithm>
#include <vector>

#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index coding_rows = 512;  // a block of rows of X and of its result stay in the cache

}  // namespace

ColumnMoments column_moments(Context& context, const ConstMatrixRef& X, const ConstVectorRef& weights) {
  const Index n = X.rows(), q = X.cols();
  constexpr Index parts = 4;
  ColumnMoments out{X.transpose() * weights, Matrix::Zero(q, q)};
  std::vector<Matrix> sums(parts, Matrix::Zero(q, q));
  parallel_for(context, parts, static_cast<double>(n) * q * q, [&](Index part) {
    const Index end = n * (part + 1) / parts;
    for (Index begin = n * part / parts; begin < end; begin += coding_rows) {
      const Index count = std::min(coding_rows, end - begin);
      // Z = diag(sqrt w) (X - 1 mean')
      const Matrix Z = weights.segment(begin, count).cwiseSqrt().asDiagonal() *
                       (X.middleRows(begin, count).rowwise() - out.mean.transpose());
      sums[part].selfadjointView<Eigen::Lower>().rankUpdate(Z.transpose());
    }
  });
  for (const Matrix& sum : sums) out.second += sum;
  out.second.triangularView<Eigen::StrictlyUpper>() = out.second.transpose();
  return out;
}

void code_columns(Context& context, const ConstMatrixRef& X, const ConstVectorRef& centre, const ConstMatrixRef& B,
                  const ConstVectorRef& level, MatrixRef out) {
  const Index n = X.rows(), q = X.cols(), L = B.cols();
  const Index blocks = (n + coding_rows - 1) / coding_rows;
  parallel_for(context, blocks, 2.0 * n * q * L, [&](Index block) {
    const Index begin = block * coding_rows, count = std::min(coding_rows, n - begin);
    const Matrix Z = X.middleRows(begin, count).rowwise() - centre.transpose();
    for (Index j = 0; j < L; ++j) {
      auto column = out.col(j).segment(begin, count);
      column.setConstant(level[j]);
      // sums of columns, one after the other: a matrix product may round rows at the end of a block differently
      for (Index k = 0; k < q; ++k)
        if (B(k, j) != 0) column += B(k, j) * Z.col(k);
    }
  });
}

}  // namespace galvi
