// Uncorrelated effects.
#pragma once

#include "prior/effect_structure.h"

namespace galvi {

inline constexpr EffectStructure independent_effects{
    [](Index) { return Index{0}; }, [](Index q, const Vector&) -> Matrix { return Matrix::Identity(q, q); },
    [](Index, const Vector&, const Matrix&) { return Vector(); }};

}  // namespace galvi
