// How the effects of a group are correlated: the structures of covariances within a group, one file each.
#pragma once

#include "numeric/types.h"

namespace galvi {

/// The correlation matrix R of q effects, a smooth function of `count` numbers between -1 and 1 that is positive
/// definite for all of them.
struct EffectStructure {
  Index (*count)(Index q);
  /// q x q.
  Matrix (*matrix)(Index q, const Vector& numbers);
  /// sum_ab K_ab dR_ab / d number, for a symmetric K.
  Vector (*chain)(Index q, const Vector& numbers, const Matrix& K);
};

}  // namespace galvi
