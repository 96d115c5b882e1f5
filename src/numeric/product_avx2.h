// Matrix products for x86 processors with AVX2 and FMA. R builds packages for any x86-64, where Eigen uses
// the two-double registers of 2003; here the wider ones are found at run time.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// False also if the compiler or the platform does not support it.
bool has_avx2();

/// C <- C + alpha op(A) op(B). Call only if has_avx2().
void add_product_avx2(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                      const ConstMatrixRef& B, MatrixRef C);

}  // namespace galvi
