#include "numeric/special_functions.h"

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace galvi {
namespace {

namespace policies = boost::math::policies;
// No exceptions, and plain doubles: promotion costs a factor of ten and gains no digit that is needed here.
using Policy = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>, policies::underflow_error<policies::ignore_error>,
    policies::denorm_error<policies::ignore_error>, policies::rounding_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>,
    policies::promote_float<false>>;

constexpr double log_sqrt_2pi = 0.91893853320467274178;
constexpr double series_from = 16.0;  // where the asymptotic series below have converged
constexpr double almost_infinite = 1e16;
constexpr double uniform_from = 1e4;  // Boost's time grows with the square root of the (smaller) parameter

// c_0 + c_1 x + c_2 x^2 + ...
double polynomial(double /*x*/, double c) { return c; }
template <class... Rest>
double polynomial(double x, double c, Rest... rest) {
  return c + x * polynomial(x, rest...);
}

// Next term below 1e-17 for x >= 16.
double stirling_series(double x) {
  return polynomial(1.0 / (x * x), 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360,
                    1.0 / 156) /
         x;
}

// x - log(1 + x), without cancellation.
double excess(double x) {
  if (std::fabs(x) >= 1e-2) return x - std::log1p(x);
  return x * x * polynomial(x, 0.5, -1.0 / 3, 0.25, -0.2, 1.0 / 6, -1.0 / 7, 0.125, -1.0 / 9);
}

// The regularised incomplete gamma functions by Temme's uniform expansion, a >= 1e4: the next term is below
// 1e-13. With mu = x / a - 1 and eta^2 / 2 = mu - log(1 + mu), sign(eta) = sign(mu):
// Q = Phi(-eta sqrt a) + R,  P = Phi(eta sqrt a) - R,
// R = exp(-a eta^2 / 2) / sqrt(2 pi a) [c0(eta) + c1(eta) / a].
double gamma_uniform(double a, double x, bool upper) {
  const double mu = (x - a) / a;
  const double half_square = excess(mu), eta = std::copysign(std::sqrt(2.0 * half_square), mu);
  double c0, c1;
  if (std::fabs(eta) < 0.1) {
    c0 = polynomial(eta, -1.0 / 3, 1.0 / 12, -2.0 / 135, 1.0 / 864, 1.0 / 2835, -139.0 / 777600);
    c1 = polynomial(eta, -1.0 / 540, -1.0 / 288, 1.0 / 378);
  } else {
    c0 = 1.0 / mu - 1.0 / eta;
    c1 = 1.0 / (eta * eta * eta) - 1.0 / (mu * mu * mu) - 1.0 / (mu * mu) - 1.0 / (12.0 * mu);
  }
  const double rest = std::exp(-a * half_square - log_sqrt_2pi) / std::sqrt(a) * (c0 + c1 / a);
  const double side = eta * std::sqrt(0.5 * a);
  return upper ? 0.5 * std::erfc(side) + rest : 0.5 * std::erfc(-side) - rest;
}

// log(y + x e^s) - x s, x + y = 1, s >= 0: the log of the moment generating function of a centred Bernoulli variable,
// by its cumulants where s is small.
double log_bernoulli(double x, double y, double s) {
  if (s >= 1e-2) return x < y ? std::log1p(x * std::expm1(s)) - x * s : std::log1p(y * std::expm1(-s)) + y * s;
  const double v = x * y, skew = y - x;
  return v * s * s *
         polynomial(s, 0.5, skew / 6, (1.0 - 6.0 * v) / 24, skew * (1.0 - 12.0 * v) / 120,
                    (1.0 - 30.0 * v * (1.0 - 4.0 * v)) / 720);
}

// P(X > x), X ~ beta(a, b), for large a and b and x at the mean or above it: with t = logit(x), the density of t at x
// times the integral of exp(-phi), phi(s) = slope s + (a + b) log_bernoulli(s), by the double exponential rule
// s = scale exp(u - exp(-u)).
double upper_beta_uniform(double a, double b, double x, double y) {
  constexpr double step = 0.125;
  const double sum = a + b, slope = x * b - y * a;
  const double density = std::sqrt(a) * std::sqrt(b / sum) *
                         std::exp(stirling_series(sum) - stirling_series(a) - stirling_series(b) - log_sqrt_2pi -
                                  a * excess(slope / a) - b * excess(-slope / b));
  if (density == 0.0) return 0.0;
  const double scale = 2.0 / (slope + std::hypot(slope, std::sqrt(2.0 * sum) * std::sqrt(x * y)));
  double integral = 0.0;
  for (double u = -3.75; u <= 4.0; u += step) {
    const double back = std::exp(-u), s = scale * std::exp(u - back);
    integral += std::exp(-slope * s - sum * log_bernoulli(x, y, s)) * (1.0 + back) * s;
  }
  return step * integral * density;
}

}  // namespace

double log_gamma(double x) {
  if (x < series_from) return boost::math::lgamma(x, Policy());
  return (x - 0.5) * std::log(x) - x + log_sqrt_2pi + stirling_series(x);
}

double stirling_error(double x) {
  if (x >= series_from) return stirling_series(x);
  return boost::math::lgamma(x, Policy()) - (x - 0.5) * std::log(x) + x - log_sqrt_2pi;
}

double stirling_error(double x, double log_x) {
  if (x > 1e-8) return stirling_error(x);
  // log Gamma(x) = -log x - 0.577 x + ...
  constexpr double euler = 0.57721566490153286061;
  return -(x + 0.5) * log_x + (1.0 - euler) * x - log_sqrt_2pi;
}

double stirling_error_slope(double x) {
  if (x < series_from) return digamma(x) - std::log(x) + 0.5 / x;
  const double r2 = 1.0 / (x * x);
  return -r2 * polynomial(r2, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
}

double log_gamma_ratio(double x, double delta) {
  const double end = x + delta;
  if (x < series_from || end < series_from) return log_gamma(end) - log_gamma(x);
  return (x - 0.5) * std::log1p(delta / x) + delta * (std::log(end) - 1.0) + stirling_error(end) -
         stirling_error(x);
}

double log_rising(double y, double log_a) {
  constexpr double few = 24.0, large = 1e10, negligible = 37.0;
  if (y == 0.0) return 0.0;
  if (y == 1.0) return log_a;
  // a^y (1 + y (y - 1) / (2 a) + ..)
  if (log_a > negligible + 2.0 * std::log(y)) return y * log_a;
  const double a = std::exp(log_a);
  if (y > few || a > large) return log_a + log_gamma_ratio(1.0 + a, y - 1.0);
  double product = 1.0 + a;
  for (double k = 2.0; k < y; k += 1.0) product *= k + a;
  return log_a + std::log(product);
}

double digamma(double x) { return boost::math::digamma(x, Policy()); }

void log_gamma_derivatives(double x, double out[5]) {
  // log Gamma(x) = log Gamma(x + 1) - log x and its derivatives, up to where the asymptotic series have
  // converged.
  double product = 1.0, sums[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  for (; x < series_from; x += 1.0) {
    const double r = 1.0 / x, r2 = r * r;
    product *= x;
    sums[1] -= r;
    sums[2] += r2;
    sums[3] -= 2.0 * r * r2;
    sums[4] += 6.0 * r2 * r2;
  }
  const double log_x = std::log(x), r = 1.0 / x, r2 = r * r;
  out[0] = (x - 0.5) * log_x - x + log_sqrt_2pi + stirling_series(x) - std::log(product);
  out[1] =
      sums[1] + log_x - 0.5 * r -
      r2 * polynomial(r2, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
  out[2] = sums[2] + r + 0.5 * r2 +
           r * r2 * polynomial(r2, 1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6);
  out[3] = sums[3] - r2 - r * r2 -
           r2 * r2 * polynomial(r2, 0.5, -1.0 / 6, 1.0 / 6, -0.3, 5.0 / 6, -691.0 / 210, 17.5);
  out[4] = sums[4] + 2.0 * r * r2 + 3.0 * r2 * r2 +
           r * r2 * r2 * polynomial(r2, 2.0, -1.0, 4.0 / 3, -3.0, 10.0, -691.0 / 15, 280.0);
}

double lower_gamma(double a, double x) {
  if (std::isnan(a + x)) return a + x;
  if (x <= 0.0) return 0.0;
  if (std::isinf(x)) return 1.0;
  return a < uniform_from ? boost::math::gamma_p(a, x, Policy()) : gamma_uniform(a, x, false);
}

double upper_gamma(double a, double x) {
  if (std::isnan(a + x)) return a + x;
  if (x <= 0.0) return 1.0;
  if (std::isinf(x)) return 0.0;
  return a < uniform_from ? boost::math::gamma_q(a, x, Policy()) : gamma_uniform(a, x, true);
}

double lower_gamma_quantile(double a, double p) { return boost::math::gamma_p_inv(a, p, Policy()); }

double incomplete_beta(double a, double b, double x, double y) {
  if (std::isnan(a + b + x + y)) return a + b + x + y;
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  // Beside a much larger parameter the beta variable is a gamma variable over it.
  if (b > almost_infinite * (1.0 + a)) return lower_gamma(a, -b * std::log1p(-x));
  if (a > almost_infinite * (1.0 + b)) return upper_gamma(b, -a * std::log1p(-y));
  if (std::fmin(a, b) >= uniform_from) {
    return x * b < y * a ? upper_beta_uniform(b, a, y, x) : 1.0 - upper_beta_uniform(a, b, x, y);
  }
  return x < 0.5 ? boost::math::ibeta(a, b, x, Policy()) : boost::math::ibetac(b, a, y, Policy());
}

double student_cdf(double t, double df) {
  // P(|T| > |t|) = I_x(df / 2, 1 / 2), x = df / (df + t^2)
  if (std::isinf(t)) return t > 0.0 ? 1.0 : 0.0;
  if (std::fabs(t) > 1e100 * (1.0 + df)) {
    // I_x(a, 1 / 2) = x^a / (a B(a, 1 / 2)), where x may be too small for a number
    const double a = 0.5 * df, log_x = std::log(df) - 2.0 * std::log(std::fabs(t));
    const double far = 0.5 * std::exp(a * log_x + log_gamma(a + 0.5) - log_gamma(a + 1.0) - log_gamma(0.5));
    return t > 0.0 ? 1.0 - far : far;
  }
  const double scale = std::hypot(std::sqrt(df), t);
  const double root_x = std::sqrt(df) / scale, root_y = t / scale;
  const double tail = 0.5 * incomplete_beta(0.5 * df, 0.5, root_x * root_x, root_y * root_y);
  return t > 0.0 ? 1.0 - tail : tail;
}

}  // namespace galvi
