#include "function/cauchy.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "numeric/types.h"

namespace galvi {
namespace {

using Complex = std::complex<double>;

constexpr double log_pi = 1.14472988584940017414;
constexpr double far_away = 1e8;  // where atan(B) - atan(A) is (B - A) / (A B) to rounding

// 1 / (t - i), whose imaginary part is pi times the density
Complex pole(double t) {
  if (std::fabs(t) <= 1.0) return Complex(t, 1.0) / (1.0 + t * t);
  const double real = 1.0 / (t + 1.0 / t);
  return {real, real / t};
}

// With A = a - x and B = b - x the probability times pi is D = atan(B) - atan(A), and with z(t) = 1 / (t - i)
//   D^(k) = -(k - 1)! Im [z(B)^k - z(A)^k],   z(B) - z(A) = -(b - a) z(A) z(B),
// so that no digits of a narrow interval are lost.   angle[k] = D^(k), k = 0..4
void angle_derivatives(double a, double b, double x, double angle[5]) {
  const double A = a - x, B = b - x;
  const Complex of_a = a == -infinity ? 0.0 : pole(A), of_b = b == infinity ? 0.0 : pole(B);
  const bool bounded = a > -infinity && b < infinity;
  if (bounded)
    angle[0] = std::atan2(b - a, 1.0 + A * B);
  else
    angle[0] = b == infinity ? std::atan2(1.0, A) : std::atan2(1.0, -B);
  Complex power_a = 1.0, power_b = 1.0, sum = 0.0;  // sum_j z(B)^j z(A)^(k - 1 - j)
  double factorial = 1.0;
  for (int k = 1; k <= 4; ++k) {
    sum = sum * of_a + power_b;
    power_a *= of_a;
    power_b *= of_b;
    factorial *= std::max(1, k - 1);
    angle[k] = factorial * (bounded ? (b - a) * (of_a * of_b * sum).imag() : (power_a - power_b).imag());
  }
}

}  // namespace

void log_cauchy_interval_derivatives(double a, double b, double x, double out[5]) {
  const double A = a - x, B = b - x;
  if (std::fabs(A) > far_away && std::fabs(B) > far_away && (A > 0.0) == (B > 0.0) && b - a < infinity) {
    out[0] = std::log(b - a) - log_pi - std::log(std::fabs(A)) - std::log(std::fabs(B));
    double of_a = 1.0, of_b = 1.0, factorial = 1.0;
    for (int k = 1; k <= 4; ++k) {
      of_a /= A;
      of_b /= B;
      factorial *= std::max(1, k - 1);
      out[k] = factorial * (of_a + of_b);
    }
    return;
  }
  double D[5];
  angle_derivatives(a, b, x, D);
  const double r1 = D[1] / D[0], r2 = D[2] / D[0], r3 = D[3] / D[0], r4 = D[4] / D[0];
  out[0] = std::log(D[0]) - log_pi;
  out[1] = r1;
  out[2] = r2 - r1 * r1;
  out[3] = r3 - r1 * (3.0 * r2 - 2.0 * r1 * r1);
  out[4] = r4 - r1 * (4.0 * r3 - r1 * (12.0 * r2 - 6.0 * r1 * r1)) - 3.0 * r2 * r2;
}

}  // namespace galvi
