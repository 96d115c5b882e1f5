// Nodes and weights for means under independent standard normal variables.
#pragma once

#include "numeric/types.h"

namespace galvi {

struct NormalRule {
  Matrix nodes;   // nodes x r
  Vector weight;  // of sum one
};

/// Gauss-Hermite for one variable.
NormalRule gauss_hermite(Index nodes);
/// Its product for r variables, the first index fastest, without the nodes whose weights are at most `least`.
NormalRule product_rule(Index r, Index nodes, double least = 0);

}  // namespace galvi
