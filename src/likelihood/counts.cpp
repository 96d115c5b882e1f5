#include "likelihood/counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include "likelihood/normal.h"

namespace galvi {
namespace {

// c_0 + c_1 x + c_2 x^2 + ...
double polynomial(double x, std::initializer_list<double> coefficients) {
  double value = 0.0;
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c) value = value * x + *c;
  return value;
}

// log Gamma(x) for x >= 16: Stirling's series, next term below 1e-17.
double stirling(double x) {
  const double series = polynomial(
      1.0 / (x * x), {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156});
  return (x - 0.5) * std::log(x) - x + log_sqrt_2pi + series / x;
}

double log_gamma(double x) {
  double product = 1.0;
  for (; x < 16.0; x += 1.0) product *= x;
  return stirling(x) - std::log(product);
}

// The regularised incomplete gamma function Q(a, x) by Temme's uniform expansion, a >= 1e4: the next term is
// below 1e-13. With mu = x / a - 1 and eta^2 / 2 = mu - log(1 + mu), sign(eta) = sign(mu):
// Q = Phi(-eta sqrt a) + exp(-a eta^2 / 2) / sqrt(2 pi a) [c0(eta) + c1(eta) / a].
double upper_gamma_uniform(double a, double x) {
  const double mu = (x - a) / a;
  auto near_zero = [mu] {
    return mu * mu * polynomial(mu, {0.5, -1.0 / 3, 0.25, -0.2, 1.0 / 6, -1.0 / 7, 0.125, -1.0 / 9});
  };
  const double half_square = std::fabs(mu) < 1e-2 ? near_zero() : mu - std::log1p(mu);
  const double eta = std::copysign(std::sqrt(2.0 * half_square), mu);
  double c0, c1;
  if (std::fabs(eta) < 0.1) {
    c0 = polynomial(eta, {-1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600});
    c1 = polynomial(eta, {-1.0 / 540, -1.0 / 288, 1.0 / 378});
  } else {
    c0 = 1.0 / mu - 1.0 / eta;
    c1 = 1.0 / (eta * eta * eta) - 1.0 / (mu * mu * mu) - 1.0 / (mu * mu) - 1.0 / (12.0 * mu);
  }
  return normal_cdf(-eta * std::sqrt(a)) +
         std::exp(-a * half_square - log_sqrt_2pi) / std::sqrt(a) * (c0 + c1 / a);
}

// Q(a, x) = Gamma(a, x) / Gamma(a).
double upper_gamma(double a, double x) {
  if (x <= 0.0) return 1.0;
  if (std::isinf(x)) return 0.0;
  if (a >= 1e4) return upper_gamma_uniform(a, x);
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1.0) {  // P = front sum_k x^k / (a (a + 1) .. (a + k))
    double term = 1.0 / a, sum = term;
    for (double k = 1.0; term > 1e-17 * sum; k += 1.0) {
      term *= x / (a + k);
      sum += term;
    }
    return 1.0 - front * sum;
  }
  // Q = front / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), Lentz's method
  double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d;
  for (int k = 1; k < 100000; ++k) {
    const double an = -k * (k - a);
    b += 2.0;
    d = 1.0 / (an * d + b);
    c = b + an / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::fabs(factor - 1.0) < 1e-15) break;
  }
  return front * fraction;
}

// The continued fraction of I_x(a, b), quick for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  auto away_from_zero = [tiny](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1.0, d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0)), fraction = d;
  for (int k = 1; k < 1000000; ++k) {
    const double m = k;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    fraction *= c * d;
    if (std::fabs(c * d - 1.0) < 1e-15) break;
  }
  return fraction;
}

// I_x(a, b) with y = 1 - x.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  const double front =
      std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log(y));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, y) / b;
}

}  // namespace

double log_factorial(double y) {
  constexpr int tabulated = 256;
  static const std::array<double, tabulated> table = [] {
    std::array<double, tabulated> values;
    for (int k = 0; k < tabulated; ++k) values[k] = k < 2 ? 0.0 : log_gamma(k + 1.0);
    return values;
  }();
  if (y >= 0.0 && y < tabulated && y == std::floor(y)) return table[static_cast<int>(y)];
  return log_gamma(y + 1.0);
}

double log_choose(double size, double y) {
  if (y == 0.0 || y == size) return 0.0;
  return log_factorial(size) - log_factorial(y) - log_factorial(size - y);
}

double poisson_cdf(double y, double rate) { return y < 0.0 ? 0.0 : upper_gamma(std::floor(y) + 1.0, rate); }

double binomial_cdf(double y, double size, double p, double q) {
  const double k = std::floor(y);
  if (k < 0.0) return 0.0;
  if (k >= size) return 1.0;
  if (size == 1.0) return q;
  return incomplete_beta(size - k, k + 1.0, q, p);
}

}  // namespace galvi
