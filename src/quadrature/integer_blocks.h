// Sums of smooth functions over many integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace galvi {

/// Nodes and weights with which the sum over the integers 0 .. count - 1, count a power of two, is that of polynomials
/// up to degree 31: Gauss's rule for the discrete uniform distribution, as Gauss-Legendre's is for integrals.
class IntegerBlock {
 public:
  static constexpr int nodes = 16, most_log2 = 50;
  /// Of 2^log2 integers, more than there are nodes.
  static const IntegerBlock& of(int log2);
  double node[nodes], weight[nodes];

 private:
  friend struct IntegerBlocks;
  void make(double count);
};

/// Calls visit(x, weight) so that sums of weight f(x) are those of f over the integers begin, .., end - 1, until
/// visit() returns false. f is smooth on the scale of `smooth` and of x / 4: blocks are no longer.
template <class Visit>
void for_integers(double begin, double end, double smooth, const Visit& visit) {
  for (double x = begin; x < end;) {
    const double most = std::min({0.25 * x, smooth, end - x});
    const int log2 = most > 2.0 * IntegerBlock::nodes ? std::min(std::ilogb(most), IntegerBlock::most_log2) : 0;
    if (log2 == 0) {
      if (!visit(x, 1.0)) return;
      x += 1.0;
      continue;
    }
    const IntegerBlock& block = IntegerBlock::of(log2);
    for (int k = 0; k < IntegerBlock::nodes; ++k)
      if (!visit(x + block.node[k], block.weight[k])) return;
    x += std::ldexp(1.0, log2);
  }
}

}  // namespace galvi
