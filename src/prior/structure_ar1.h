// An autoregressive process of order one over the effects in their order: R_ab = r^|a - b|. R^-1 is tridiagonal.
#pragma once

#include <cmath>
#include <cstdlib>

#include "prior/effect_structure.h"

namespace galvi {

inline constexpr EffectStructure ar1_effects{
    [](Index) { return Index{1}; },
    [](Index q, const Vector& numbers) {
      Matrix R(q, q);
      for (Index b = 0; b < q; ++b)
        for (Index a = 0; a < q; ++a) R(a, b) = std::pow(numbers[0], std::abs(a - b));
      return R;
    },
    [](Index q, const Vector& numbers, const Matrix& K) -> Vector {
      double sum = 0;
      for (Index b = 0; b < q; ++b)
        for (Index a = b + 1; a < q; ++a)
          sum += 2 * K(a, b) * static_cast<double>(a - b) * std::pow(numbers[0], a - b - 1);
      return Vector::Constant(1, sum);
    }};

}  // namespace galvi
