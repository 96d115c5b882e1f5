#include "kernel/arrays.h"

#include <cmath>

#include "kernel/arrays_avx2.h"
#include "numeric/product_avx2.h"

namespace galvi {

void exp_minus(ArrayRef t) {
  if (has_avx2()) {
    exp_minus_avx2(t.size(), t.data());
  } else {
    exp_minus_portable(t);
  }
}

void exp_minus_less_one(ArrayRef t) {
  constexpr double small = 0.3;  // above it the difference has nearly all digits
  const Eigen::ArrayXd exponent = t;
  exp_minus(t);
  for (Index i = 0; i < t.size(); ++i) t[i] = exponent[i] < small ? std::expm1(-exponent[i]) : t[i] - 1;
}

void squared_distances(const Matrix& X, const Matrix& Z, MatrixRef out) {
  if (has_avx2()) {
    squared_distances_avx2(X.rows(), X.cols(), Z.cols(), X.data(), Z.data(), out.data(), out.outerStride());
  } else {
    squared_distances_portable(X, Z, out);
  }
}

void exp_minus_portable(ArrayRef t) { t = ((-t.min(700.0)).exp() - 1e-300).max(0.0); }

void squared_distances_portable(const Matrix& X, const Matrix& Z, MatrixRef out) {
  const Index q = X.cols();
  for (Index j = 0; j < Z.cols(); ++j) {
    auto sum = out.col(j).array();
    const auto square = [&](Index d) { return (X.col(d).array() - Z(d, j)).square(); };
    sum.setZero();
    Index d = 0;
    // Four columns a pass, so that `sum` is read and written a quarter as often.
    for (; d + 3 < q; d += 4) sum += (square(d) + square(d + 1)) + (square(d + 2) + square(d + 3));
    for (; d < q; ++d) sum += square(d);
  }
}

}  // namespace galvi
