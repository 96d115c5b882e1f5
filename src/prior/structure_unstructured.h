// Every pair of effects has a correlation of its own, in the order of numeric/correlations.h. The table of
// hyperparameters keeps them those of a positive definite matrix.
#pragma once

#include <stdexcept>

#include "numeric/correlations.h"
#include "prior/effect_structure.h"

namespace galvi {

inline constexpr EffectStructure unstructured_effects{
    [](Index q) { return q * (q - 1) / 2; },
    [](Index, const Vector& numbers) { return correlation_matrix(numbers); },
    [](Index q, const Vector& numbers, const Matrix& K) {
      Vector out(numbers.size());
      Index at = 0;
      for (Index i = 1; i < q; ++i)
        for (Index j = 0; j < i; ++j, ++at) out[at] = 2 * K(i, j);
      return out;
    }};

}  // namespace galvi
