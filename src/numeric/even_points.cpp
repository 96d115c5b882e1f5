#include "numeric/even_points.h"

#include <array>
#include <cmath>

namespace galvi {

Matrix even_points(Index S, Index d) {
  constexpr std::array<double, 31> primes = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29,  31,  37,  41,  43,  47, 53,
                                             59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127};
  Matrix out(S, d);
  for (Index j = 0; j < d; ++j) {
    const double step = std::sqrt(primes.at(static_cast<std::size_t>(j)));
    for (Index s = 0; s < S; ++s) {
      const double at = (static_cast<double>(s) + 0.5) * step;
      out(s, j) = at - std::floor(at);
    }
  }
  return out;
}

}  // namespace galvi
