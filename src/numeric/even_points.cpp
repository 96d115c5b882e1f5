#include "numeric/even_points.h"

#include <cmath>

namespace galvi {

Matrix even_points(Index S, Index d) {
  double g = 2;
  for (int i = 0; i < 64; ++i) g = std::pow(1 + g, 1.0 / static_cast<double>(d + 1));
  Matrix out(S, d);
  for (Index j = 0; j < d; ++j) {
    const double step = std::pow(g, -static_cast<double>(j + 1));
    for (Index s = 0; s < S; ++s) {
      const double at = 0.5 + static_cast<double>(s + 1) * step;
      out(s, j) = at - std::floor(at);
    }
  }
  return out;
}

}  // namespace galvi
