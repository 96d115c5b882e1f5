#include "numeric/even_points.h"

#include <array>
#include <cstdint>

namespace galvi {

namespace {

/// The digits of n in base b behind the point, in reverse order.
double reversed(Index n, Index b) {
  double out = 0, unit = 1 / static_cast<double>(b);
  for (; n > 0; n /= b, unit /= static_cast<double>(b)) out += static_cast<double>(n % b) * unit;
  return out;
}

/// A number in (0, 1) for each n, without a pattern: splitmix64.
double scattered(Index n) {
  std::uint64_t z = 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(n + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace

Matrix even_points(Index S, Index d) {
  constexpr std::array<Index, 16> primes = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
  constexpr double shift = 0.61803398874989485;  // no point is at an end, as no fraction is irrational
  Matrix out(S, d);
  if (d > static_cast<Index>(primes.size())) {
    // row after row, so that the first of many points are those of few
    for (Index s = 0; s < S; ++s)
      for (Index j = 0; j < d; ++j) out(s, j) = scattered(s * d + j);
    return out;
  }
  for (Index j = 0; j < d; ++j)
    for (Index s = 0; s < S; ++s) {
      const double at = reversed(s + 1, primes[static_cast<std::size_t>(j)]) + shift;
      out(s, j) = at < 1 ? at : at - 1;
    }
  return out;
}

}  // namespace galvi
