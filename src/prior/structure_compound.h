// Compound symmetry: one correlation r for all pairs of effects. It is positive definite for r > -1 / (q - 1); the
// number s in (-1, 1) is where r is between this limit and one:  r = low + (1 - low) (s + 1) / 2.
#pragma once

#include "prior/effect_structure.h"

namespace galvi {

inline constexpr EffectStructure compound_effects{
    [](Index) { return Index{1}; },
    [](Index q, const Vector& numbers) {
      const double low = -1.0 / static_cast<double>(q - 1), r = low + (1 - low) * (numbers[0] + 1) / 2;
      Matrix R = Matrix::Constant(q, q, r);
      R.diagonal().setOnes();
      return R;
    },
    [](Index q, const Vector&, const Matrix& K) -> Vector {
      const double low = -1.0 / static_cast<double>(q - 1);
      return Vector::Constant(1, (1 - low) / 2 * (K.sum() - K.trace()));
    }};

}  // namespace galvi
