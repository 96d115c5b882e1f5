#include "expectation/piecewise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string>

#include "expectation/llp_pieces.h"

namespace galvi {
namespace {

constexpr double sqrt_half = 0.70710678118654752440;
constexpr double one_over_sqrt_2pi = 0.39894228040143267794;
// Phi(z) is 1 to rounding right of `certain`; left of -`vanished` it underflows.
constexpr double certain = 9.0, vanished = 37.5;
// Below it the variance is taken as 0: its powers would overflow.
constexpr double no_variance = 1e-200;

const LlpPieces& half_of(int pieces) {
  const auto found = std::find_if(std::begin(llp_pieces), std::end(llp_pieces),
                                  [pieces](const LlpPieces& entry) { return entry.pieces == pieces; });
  if (found == std::end(llp_pieces))
    throw std::invalid_argument("the piecewise bound has 3 to 20 pieces, not " + std::to_string(pieces));
  return *found;
}

}  // namespace

Piecewise::Piecewise(int pieces) {
  const LlpPieces& half = half_of(pieces);
  const int count = (pieces - 1) / 2;
  constant_ = half.constant;
  double curvature = 0.0, slope = 0.0;  // left of the next knot
  for (int j = 0; j < count; ++j) {
    knots_.push_back({half.knot[j], half.curvature[j] - curvature, half.curvature[j], 0.0});
    curvature = half.curvature[j];
    slope += curvature * ((j + 1 < count ? half.knot[j + 1] : 0.0) - half.knot[j]);
  }
  // By symmetry B'(0+) = 1 - B'(0-).
  if (pieces % 2 == 0) knots_.push_back({0.0, 0.0, curvature, 1.0 - 2.0 * slope});
  for (int j = count - 1; j >= 0; --j) {
    curvature = j > 0 ? half.curvature[j - 1] : 0.0;
    knots_.push_back({-half.knot[j], curvature - half.curvature[j], curvature, 0.0});
  }
}

void Piecewise::evaluate(double sign, double mean, double variance, int order, PointExpectation& out) const {
  // In terms of u = -sign x. As B(u) = u + B(-u), everything is evaluated at a mean <= 0, where nothing
  // cancels.
  double b[5];
  means(-std::fabs(mean), variance, order, b);
  const bool mirrored = sign * mean < 0.0;
  out.value = -b[0] + (mirrored ? sign * mean : 0.0);
  out.d_m = sign * (mirrored ? 1.0 - b[1] : b[1]);
  out.d_v = -0.5 * b[2];
  out.d_mm = -b[2];
  if (order < 2) return;
  out.d_mv = 0.5 * sign * (mirrored ? -b[3] : b[3]);
  out.d_vv = -0.25 * b[4];
}

// B(x) = constant + sum over knots t of bend (x - t)_+^2 / 2 + kink (x - t)_+. With d = mean - t, z = d / sd
//   E (x - t)_+^2 / 2 = [(d^2 + v) Phi(z) + d sd phi(z)] / 2,   E (x - t)_+ = d Phi(z) + sd phi(z),
// and each derivative in the mean is that of the next derivative of B; Phi(z), phi(z) / sd, -z phi(z) / v, ..
// E B'' is summed piece by piece, curvature [Phi(z) - Phi(z of the next knot)] >= 0.
void Piecewise::means(double mean, double variance, int order, double out[5]) const {
  if (variance < no_variance) return at_point(mean, out);
  const double sd = std::sqrt(variance), scale = 1.0 / sd;
  out[0] = constant_;
  out[1] = out[2] = out[3] = out[4] = 0.0;
  const double first = std::min(0.0, (mean - knots_.front().at) * scale);
  if (first < -vanished) return;
  // Knots so far to the right that their terms are negligible.
  const double reach = -std::sqrt(first * first + certain * certain);
  double curvature = 0.0, before = 0.0;
  for (const Knot& knot : knots_) {
    const double d = mean - knot.at, z = d * scale;
    if (z < reach) break;
    double Phi = 1.0, phi = 0.0;
    if (z < certain) {
      Phi = 0.5 * std::erfc(-z * sqrt_half);
      phi = one_over_sqrt_2pi * std::exp(-0.5 * z * z);
    }
    const double rise = d * Phi + sd * phi, density = phi * scale;
    out[0] += 0.5 * knot.bend * (variance * Phi + d * rise) + knot.kink * rise;
    out[1] += knot.bend * rise + knot.kink * Phi;
    out[2] += curvature * (before - Phi) + knot.kink * density;
    if (order > 1) {
      out[3] += density * (knot.bend - knot.kink * z * scale);
      out[4] += density * scale * (-knot.bend * z + knot.kink * (z * z - 1.0) * scale);
    }
    curvature = knot.curvature;
    before = Phi;
  }
  out[2] += curvature * before;
}

// The limits for a variance of 0, without the infinite second derivative of a kink.
void Piecewise::at_point(double x, double out[5]) const {
  out[0] = constant_;
  out[1] = out[2] = out[3] = out[4] = 0.0;
  for (const Knot& knot : knots_) {
    const double d = x - knot.at, past = d > 0.0 ? 1.0 : d == 0.0 ? 0.5 : 0.0;
    out[0] += past * d * (0.5 * knot.bend * d + knot.kink);
    out[1] += past * (knot.bend * d + knot.kink);
    out[2] += past * knot.bend;
  }
}

}  // namespace galvi
