// Array arithmetic shared by kernels: whole columns at a time, so that the compiler sees vectors.
#pragma once

#include "numeric/types.h"

namespace galvi {

using ArrayRef = Eigen::Ref<Eigen::ArrayXd>;
using ConstArrayRef = Eigen::Ref<const Eigen::ArrayXd>;

/// t <- exp(-t) for t >= 0, and exactly 0 below 1e-300: a denormal entry of a covariance matrix slows every
/// factorisation that meets it.
inline void exp_minus(ArrayRef t) { t = ((-t.min(700.0)).exp() - 1e-300).max(0.0); }

/// out_i = |X_i - z|^2 by direct differences: no cancellation for close rows.   X: a x q, z: q, out: a.
inline void squared_distances(const Matrix& X, const ConstVectorRef& z, ArrayRef out) {
  const Index q = X.cols();
  const auto square = [&](Index d) { return (X.col(d).array() - z[d]).square(); };
  // Four columns a pass, so that `out` is read and written a quarter as often.
  Index d = q % 4;
  switch (d) {
    case 0:
      out.setZero();
      break;
    case 1:
      out = square(0);
      break;
    case 2:
      out = square(0) + square(1);
      break;
    default:
      out = square(0) + square(1) + square(2);
  }
  for (; d < q; d += 4) out += (square(d) + square(d + 1)) + (square(d + 2) + square(d + 3));
}

}  // namespace galvi
