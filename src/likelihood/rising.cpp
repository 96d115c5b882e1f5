#include "likelihood/rising.h"

#include <algorithm>
#include <cmath>

namespace galvi {
namespace {

constexpr double series_start = 16.0;  // Stirling's series, of as many terms as below, is exact from here on
constexpr double almost_infinite = 300.0;  // log a: beyond, R is y x
// B_2k / (2 k (2 k - 1)), the coefficient of z^(1 - 2 k)
constexpr double stirling[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};

// With q = a / z, z = a + j, and D = d / d x:  D z = a,  D q = q (1 - q).
// out[k] += weight D^k log z
void add_log(double q, double weight, double out[5]) {
  const double bend = q * (1.0 - q);
  out[1] += weight * q;
  out[2] += weight * bend;
  out[3] += weight * bend * (1.0 - 2.0 * q);
  out[4] += weight * bend * (1.0 - 6.0 * bend);
}

// out[k] += sign D^k of what Stirling's series has beyond (z - 1/2) log z - z: powers z^-p = exp(-p log z).
void add_series(double q, double z, double sign, double out[5]) {
  const double rest = 1.0 - q;
  double power = 1.0 / z;
  for (int k = 0; k < 7; ++k, power /= z * z) {
    const double c = sign * stirling[k] * power, w = -(2.0 * k + 1.0) * q;
    const double w2 = w * rest, w3 = w2 * (1.0 - 2.0 * q), w4 = w2 * (1.0 - 6.0 * q * rest);
    out[1] += c * w;
    out[2] += c * (w2 + w * w);
    out[3] += c * (w3 + 3.0 * w * w2 + w * w * w);
    out[4] += c * (w4 + 4.0 * w * w3 + 3.0 * w2 * w2 + 6.0 * w * w * w2 + w * w * w * w);
  }
}

}  // namespace

// The factors up to where Stirling's series is exact are taken one by one, the others as a difference of two series, of which the
// leading terms are differenced first: D^k (z log z - z) is a (log z + 7 q - 6 q^2 + 2 q^3) for k = 4, and so on.
void log_rising_derivatives(double y, double x, double out[5]) {
  std::fill(out + 1, out + 5, 0.0);
  if (y == 0.0) return;
  out[1] = 1.0;  // the factor a itself
  if (x > almost_infinite) {
    out[1] = y;
    return;
  }
  const double a = std::exp(x), begin = std::min(y, std::max(1.0, std::ceil(series_start - a)));
  for (double j = 1.0; j < begin; j += 1.0) add_log(a / (a + j), 1.0, out);
  if (begin == y) return;
  const double low = a + begin, high = a + y, q = a / low, r = a / high;
  const double span = y - begin, log_ratio = std::log1p(span / low), fall = a * (q / high) * span;  // a (q - r)
  out[1] += a * log_ratio;
  out[2] += a * log_ratio - fall;
  out[3] += a * log_ratio - fall * (3.0 - (q + r));
  out[4] += a * log_ratio - fall * (7.0 - 6.0 * (q + r) + 2.0 * (q * q + q * r + r * r));
  add_log(r, -0.5, out);
  add_log(q, 0.5, out);
  add_series(r, high, 1.0, out);
  add_series(q, low, -1.0, out);
}

}  // namespace galvi
