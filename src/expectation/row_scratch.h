// Storage for one row of an expectation.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "expectation/expectation.h"

namespace galvi {

/// One row's marginals and derivatives.
class RowScratch {
 public:
  explicit RowScratch(Index K) : K_(K), numbers_(4 * K + 3 * K * K) {
    double* at = numbers_.data();
    for (double** part : {&mean, &variance, &row.d_m, &row.d_v}) {
      *part = at;
      at += K;
    }
    for (double** part : {&row.d_mm, &row.d_mv, &row.d_vv}) {
      *part = at;
      at += K * K;
    }
  }
  /// False if row n has a mean or variance that is not finite, or a negative variance.
  bool gather(const Matrix& means, const Matrix& variances, Index n) {
    for (Index k = 0; k < K_; ++k) {
      mean[k] = means(n, k);
      variance[k] = variances(n, k);
      if (!(std::isfinite(mean[k]) && variance[k] >= 0.0 && variance[k] < infinity)) return false;
    }
    return true;
  }
  void fill(double value) {
    row.value = value;
    std::fill(row.d_m, numbers_.data() + numbers_.size(), value);
  }

  RowExpectation row;
  double *mean, *variance;

 private:
  Index K_;
  std::vector<double> numbers_;
};

}  // namespace galvi
