// The table that gives all derivatives of an expectation over two latent values.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// f[p][q] = E d^(p + q) log p / d eta_1^p d eta_2^q under independent Gaussians: each derivative in a variance is
/// half the second one in its mean.
struct MeanDerivatives {
  double f[5][5] = {};

  void add_to(int order, RowExpectation& out) const {
    out.value += f[0][0];
    out.d_m[0] += f[1][0];
    out.d_m[1] += f[0][1];
    out.d_v[0] += 0.5 * f[2][0];
    out.d_v[1] += 0.5 * f[0][2];
    if (order < 2) return;
    const double mm[] = {f[2][0], f[1][1], f[1][1], f[0][2]}, mv[] = {f[3][0], f[2][1], f[1][2], f[0][3]},
                 vv[] = {f[4][0], f[2][2], f[2][2], f[0][4]};
    for (int k = 0; k < 4; ++k) {
      out.d_mm[k] += mm[k];
      out.d_mv[k] += 0.5 * mv[k];
      out.d_vv[k] += 0.25 * vv[k];
    }
  }
};

}  // namespace galvi
