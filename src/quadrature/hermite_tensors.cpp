#include "quadrature/hermite_tensors.h"

#include <algorithm>
#include <map>

#include "quadrature/normal_rule.h"

namespace galvi {

namespace {

/// He_n(z), orthogonal under N(0, 1).
double hermite_polynomial(Index n, double z) {
  double before = 0, out = 1;
  for (Index k = 0; k < n; ++k) {
    const double next = z * out - static_cast<double>(k) * before;
    before = out;
    out = next;
  }
  return out;
}

}  // namespace

HermiteTensors::HermiteTensors(Index K, Index nodes_per_axis) {
  constexpr double least = 1e-14;
  NormalRule rule = product_rule(K, nodes_per_axis, least);
  nodes_ = std::move(rule.nodes);
  std::vector<std::vector<Index>> monomials;  // sorted indices
  begin_[0] = 0;
  Index entries = 1;
  for (int order = 0; order < orders; ++order, entries *= K) {
    std::map<std::vector<Index>, Index> known;
    for (Index entry = 0; entry < entries; ++entry) {
      std::vector<Index> indices;
      for (Index i = 0, rest = entry; i < order; ++i, rest /= K) indices.push_back(rest % K);
      std::sort(indices.begin(), indices.end());
      const auto found = known.emplace(indices, static_cast<Index>(monomials.size()));
      if (found.second) monomials.push_back(indices);
      place_[order].push_back(found.first->second);
    }
    begin_[order + 1] = static_cast<Index>(monomials.size());
  }
  weights_.resize(size(), begin_[orders]);
  for (std::size_t j = 0; j < monomials.size(); ++j) {
    auto column = weights_.col(static_cast<Index>(j));
    column = rule.weight;
    for (Index k = 0; k < K; ++k) {  // the tensor is a product over variables
      const Index n = std::count(monomials[j].begin(), monomials[j].end(), k);
      for (Index s = 0; s < size(); ++s) column[s] *= hermite_polynomial(n, nodes_(s, k));
    }
  }
}

void HermiteTensors::derivative(int order, const double* moments, const ConstMatrixRef& inverse_root,
                                double* out) const {
  const Index K = nodes_.cols(), entries = static_cast<Index>(place_[order].size());
  for (Index entry = 0; entry < entries; ++entry) out[entry] = moments[place_[order][entry]];
  Index stride = 1;
  for (int axis = 0; axis < order; ++axis, stride *= K)
    for (Index entry = 0; entry < entries; ++entry) {
      const Index a = entry / stride % K;
      double sum = 0;  // of this entry and later ones, which are still what they were
      for (Index b = a; b < K; ++b) sum += inverse_root(b, a) * out[entry + (b - a) * stride];
      out[entry] = sum;
    }
}

}  // namespace galvi
