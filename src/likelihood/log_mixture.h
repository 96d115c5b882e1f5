// Derivatives of the logarithm of a sum of densities.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace galvi {

/// The first four derivatives of log sum_j exp(l_j), as out[1] to out[4], from those of the l_j and the shares of the
/// terms in the sum, which add up to one. With < > the mean by shares and a, b, c, d the derivatives of l, each derivative
/// of a mean is the mean of the derivative plus the covariance with a: <a>; <b> + var a; <c> + 3 cov(a, b) + k(a, a, a);
/// <d> + 4 cov(a, c) + 3 var b + 6 k(a, a, b) + k(a, a, a, a), with k the joint cumulants.
inline void log_mixture_derivatives(const std::vector<double>& shares, const std::vector<std::array<double, 5>>& l,
                                    double out[5]) {
  double mean[5] = {};
  for (std::size_t j = 0; j < l.size(); ++j)
    for (int k = 1; k < 5; ++k) mean[k] += shares[j] * l[j][k];
  double aa = 0, ab = 0, ac = 0, bb = 0, aaa = 0, aab = 0, aaaa = 0;
  for (std::size_t j = 0; j < l.size(); ++j) {
    const double w = shares[j], a = l[j][1] - mean[1], b = l[j][2] - mean[2], c = l[j][3] - mean[3];
    aa += w * a * a;
    ab += w * a * b;
    ac += w * a * c;
    bb += w * b * b;
    aaa += w * a * a * a;
    aab += w * a * a * b;
    aaaa += w * a * a * a * a;
  }
  out[1] = mean[1];
  out[2] = mean[2] + aa;
  out[3] = mean[3] + 3 * ab + aaa;
  out[4] = mean[4] + 4 * ac + 3 * bb + 6 * aab + aaaa - 3 * aa * aa;
}

}  // namespace galvi
