// A correlation for each distance of two effects in their order. The numbers are partial autocorrelations: any of them
// give a positive definite matrix.
#pragma once

#include <cmath>
#include <cstdlib>

#include "numeric/correlations.h"
#include "prior/effect_structure.h"

namespace galvi {

inline constexpr EffectStructure toeplitz_effects{
    [](Index q) { return q - 1; },
    [](Index q, const Vector& numbers) {
      const Vector lag = autocorrelations(numbers);
      Matrix R = Matrix::Identity(q, q);
      for (Index b = 0; b < q; ++b)
        for (Index a = b + 1; a < q; ++a) R(a, b) = R(b, a) = lag[a - b - 1];
      return R;
    },
    [](Index q, const Vector& numbers, const Matrix& K) -> Vector {
      Vector d_lag(q - 1);
      for (Index k = 1; k < q; ++k) d_lag[k - 1] = K.diagonal(k).sum() + K.diagonal(-k).sum();
      Matrix slope;
      autocorrelations(numbers, &slope);
      return slope.transpose() * d_lag;
    }};

}  // namespace galvi
