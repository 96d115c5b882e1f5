// Products of two fields: the precision Q_outer (x) Q_inner, as of an autoregressive process of which each step is a
// spatial field.
#pragma once

#include <vector>

#include "prior/term.h"

namespace galvi {

/// The product of two fields of K and L nodes, the outer one without constraints: its parts are the Kronecker products
/// of a part of each, those of the inner field changing fastest, and every constraint of the inner field holds at each
/// node of the outer one. Node (i, j), i < K and j < L, has the number i L + j, or order[i L + j] if there is an order.
/// Throws std::invalid_argument if the outer field has constraints or a factor a basis, or if `order` is not a
/// permutation.
FieldSpec form_product(FieldSpec outer, FieldSpec inner, const std::vector<Index>& order);

}  // namespace galvi
