#include "prior/field_product.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace galvi {

namespace {

/// Numbers of the pairs of nodes.
struct PairNumbers {
  Index inner;
  const std::vector<Index>& order;
  Index operator()(Index i, Index j) const {
    const Index natural = i * inner + j;
    return order.empty() ? natural : order[natural];
  }
};

// Both are lower triangles, and so is their product: an entry away from the diagonal of both stands for two.
Triplets product_of(const Triplets& outer, const Triplets& inner, const PairNumbers& number) {
  Triplets out;
  out.rows = out.columns = outer.rows * inner.rows;
  std::size_t apart = 0;
  for (const auto& b : inner.entries) apart += b.row() != b.col();
  std::size_t size = 0;
  for (const auto& a : outer.entries) size += inner.entries.size() + (a.row() != a.col() ? apart : 0);
  out.entries.reserve(size);
  const auto add = [&](Index i, Index j, double value) {
    out.entries.emplace_back(static_cast<int>(std::max(i, j)), static_cast<int>(std::min(i, j)), value);
  };
  for (const auto& a : outer.entries)
    for (const auto& b : inner.entries) {
      const double value = a.value() * b.value();
      add(number(a.row(), b.row()), number(a.col(), b.col()), value);
      if (a.row() != a.col() && b.row() != b.col())
        add(number(a.row(), b.col()), number(a.col(), b.row()), value);
    }
  return out;
}

void check_order(const std::vector<Index>& order, Index nodes) {
  if (order.empty()) return;
  std::vector<bool> seen(nodes, false);
  for (const Index node : order) {
    if (node < 0 || node >= nodes || seen[node])
      throw std::invalid_argument("the order of the nodes of a product of fields is not a permutation");
    seen[node] = true;
  }
  if (static_cast<Index>(order.size()) != nodes)
    throw std::invalid_argument("the order of the nodes of a product of fields has another number of them");
}

}  // namespace

FieldSpec form_product(FieldSpec outer, FieldSpec inner, const std::vector<Index>& order) {
  if (outer.precision.empty() || inner.precision.empty())
    throw std::invalid_argument("a factor of a product of fields has no precision");
  if (!outer.pins.empty() || outer.basis.size() > 0 || inner.basis.size() > 0)
    throw std::invalid_argument("a product of fields needs a proper outer field, and an inner one without a basis");
  const Index K = outer.precision[0].rows, L = inner.precision[0].rows;
  check_order(order, K * L);
  const PairNumbers number{L, order};
  FieldSpec out;
  out.model = "product";
  for (const Triplets& a : outer.precision)
    for (const Triplets& b : inner.precision) out.precision.push_back(product_of(a, b, number));
  const Index c = inner.constraints.columns;
  if (c > 0) {
    out.constraints.rows = K * L;
    out.constraints.columns = K * c;
    for (Index i = 0; i < K; ++i)
      for (const auto& entry : inner.constraints.entries)
        out.constraints.entries.emplace_back(static_cast<int>(number(i, entry.row())),
                                             static_cast<int>(i * c + entry.col()), entry.value());
    for (Index i = 0; i < K; ++i)
      for (const Index pin : inner.pins) out.pins.push_back(number(i, pin));
  }
  // their coefficients are all that is asked of the factors from now on
  for (FieldSpec* factor : {&outer, &inner}) {
    factor->precision.clear();
    factor->constraints = Triplets();
    factor->pins.clear();
    out.factors.push_back(std::move(*factor));
  }
  return out;
}

}  // namespace galvi
