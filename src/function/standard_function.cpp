#include "function/standard_function.h"

#include <algorithm>
#include <cmath>

#include "function/cauchy.h"
#include "function/normal.h"

namespace galvi {
namespace {

class LogSigmoid final : public StandardFunction {
 public:
  double value(double x) const override {
    return x > 0.0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
  }
  void derivatives(double x, double out[5]) const override {
    const double e = std::exp(-std::fabs(x));
    const double near = 1.0 / (1.0 + e), far = e * near;  // the larger and the smaller probability
    const double log_near = -std::log1p(e);
    const double spread = near * far;
    out[0] = x > 0.0 ? log_near : x + log_near;
    out[1] = x > 0.0 ? far : near;
    out[2] = -spread;
    out[3] = (x > 0.0 ? spread : -spread) * (near - far);
    out[4] = -spread * (1.0 - 6.0 * spread);
  }
  // exp(f) (1 - exp(f))
  void log_density(double x, double out[3]) const override {
    double f[5];
    derivatives(x, f);
    out[0] = 2.0 * f[0] - x;
    out[1] = 2.0 * f[1] - 1.0;
    out[2] = 2.0 * f[2];
  }
  // The poles are at odd multiples of i pi.
  Smoothness smoothness() const override { return {3.14159265358979323846, 0.0}; }
  bool reflects() const override { return true; }
  bool means_by_series(double mean, double variance, double out[5]) const override {
    if (variance <= narrow)
      narrow_means(mean, 0.5 * variance, out);
    else if (variance >= wide)
      wide_means(mean, variance, out);
    else
      return false;
    return true;
  }

 private:
  static constexpr double narrow = 0.0025, wide = 1e4;

  // E f^(k) = sum_j f^(k + 2 j) h^j / j!, h = variance / 2. With p = exp(f) (1 - exp(f)) even derivatives are
  // polynomials in p, odd ones those' slopes times p'.
  void narrow_means(double x, double h, double out[5]) const {
    const double e = std::exp(-std::fabs(x));
    const double near = 1.0 / (1.0 + e), far = e * near, p = near * far;
    const double slope = x > 0.0 ? -p * (near - far) : p * (near - far);
    const double f4 = -p * (1.0 - 6.0 * p), f6 = -p * (1.0 - p * (30.0 - 120.0 * p));
    const double f8 = -p * (1.0 - p * (126.0 - p * (1680.0 - 5040.0 * p)));
    const double f10 = -p * (1.0 - p * (510.0 - p * (17640.0 - p * (151200.0 - 362880.0 * p))));
    const double f3 = -slope, f5 = -slope * (1.0 - 12.0 * p), f7 = -slope * (1.0 - p * (60.0 - 360.0 * p));
    const double f9 = -slope * (1.0 - p * (252.0 - p * (5040.0 - 20160.0 * p)));
    const double h2 = h / 2.0, h3 = h / 3.0, h4 = h / 4.0;
    out[0] = std::min(x, 0.0) - std::log1p(e) +
             h * (-p + h2 * (f4 + h3 * (f6 + h4 * (f8 + h / 5.0 * f10))));
    out[1] = (x > 0.0 ? far : near) + h * (f3 + h2 * (f5 + h3 * (f7 + h4 * f9)));
    out[2] = -p + h * (f4 + h2 * (f6 + h3 * (f8 + h4 * f10)));
    out[3] = f3 + h * (f5 + h2 * (f7 + h3 * f9));
    out[4] = f4 + h * (f6 + h2 * (f8 + h3 * f10));
  }

  // f(x) = min(x, 0) - g(x), where g(x) = log(1 + exp(-|x|)) is so narrow that only its moments matter,
  // int x^(2 j) g(x) dx = (2 j)! 2 eta(2 j + 2) with Dirichlet's eta: with z = mean / sd
  //   E g = sum_j 2 eta(2 j + 2) He_(2 j)(z) phi(z) / sd^(2 j + 1).
  void wide_means(double mean, double variance, double out[5]) const {
    constexpr int moments = 4, last = 2 * moments + 2;
    static constexpr double twice_eta[moments] = {1.6449340668482264, 1.8940656589944918, 1.9711021825948702,
                                                  1.9924660037052957};
    const double sd = std::sqrt(variance), z = mean / sd, density = normal_density(z) / sd;
    const double t = std::clamp(z, -40.0, 40.0);  // beyond, the density is 0
    double hermite[last + 1];                     // He_n(z) / (-sd)^n
    hermite[0] = 1.0;
    hermite[1] = -t / sd;
    for (int n = 2; n <= last; ++n)
      hermite[n] = -(t * hermite[n - 1] + (n - 1) * hermite[n - 2] / sd) / sd;
    double near[5] = {0.0, 0.0, 0.0, 0.0, 0.0};  // derivatives of E g
    for (int j = moments - 1; j >= 0; --j)
      for (int k = 0; k < 5; ++k) near[k] += twice_eta[j] * hermite[2 * j + k];
    out[0] = mean * normal_cdf(-z) - variance * density - density * near[0];
    out[1] = normal_cdf(-z) - density * near[1];
    out[2] = -density * (1.0 + near[2]);
    out[3] = density * (z / sd - near[3]);
    out[4] = -density * ((z * z - 1.0) / variance + near[4]);
  }
};

class LogPhi final : public StandardFunction {
 public:
  double value(double x) const override { return log_normal_cdf(x); }
  void derivatives(double x, double out[5]) const override { log_normal_cdf_derivatives(x, out); }
  void log_density(double x, double out[3]) const override {
    out[0] = -0.5 * x * x - log_sqrt_2pi;
    out[1] = -x;
    out[2] = -1.0;
  }
  std::optional<double> log_mean_exp(double mean, double variance) const override {
    return value(mean / std::sqrt(1.0 + variance));
  }
  bool of_normal() const override { return true; }
  // On the right f and its derivatives are 0 to the last bit.
  bool means_by_series(double mean, double variance, double out[5]) const override {
    constexpr double zero_from = 38.6, reach = 9.0;  // in sds
    if (!(mean - reach * std::sqrt(variance) > zero_from)) return false;
    std::fill(out, out + 5, 0.0);
    return true;
  }
  // The zeros of Phi nearest to the real line are at 1.916 +- 2.816i.
  Smoothness smoothness() const override { return {2.816, 0.0}; }
};

class LogGumbel final : public StandardFunction {
 public:
  double value(double x) const override { return -std::exp(-x); }
  void derivatives(double x, double out[5]) const override {
    out[1] = out[3] = std::exp(-x);
    out[0] = out[2] = out[4] = -out[1];
  }
  void log_density(double x, double out[3]) const override {
    out[2] = -std::exp(-x);
    out[1] = -1.0 - out[2];
    out[0] = out[2] - x;
  }
  Smoothness smoothness() const override { return {infinity, 1.0}; }
};

// With u = exp(x):  f' = r = u / (exp(u) - 1) = sum_n b_n u^n, b_n = B_n / n! with Bernoulli's numbers, and
// each further derivative multiplies u^n by n. For larger u, where differences keep their digits, p = 1 - u -
// r and f'' = r p,  f''' = p f'' + r p',  p' = -u - f'',  f'''' = p f''' + 2 p' f'' + r p'',  p'' = -u - f'''.
class LogCloglog final : public StandardFunction {
 public:
  double value(double x) const override {
    const double u = std::exp(x);
    if (u < 1e-10) return x - 0.5 * u;
    return u < 0.7 ? std::log(-std::expm1(-u)) : std::log1p(-std::exp(-u));
  }
  void derivatives(double x, double out[5]) const override {
    const double u = std::exp(x);
    out[0] = value(x);
    if (u < series_end) return sum_series(u, out);
    if (u > negligible) {
      out[1] = out[2] = out[3] = out[4] = 0.0;
      return;
    }
    const double r = u / std::expm1(u), p = 1.0 - u - r;
    out[1] = r;
    out[2] = r * p;
    const double slope = -u - out[2];
    out[3] = p * out[2] + r * slope;
    out[4] = p * out[3] + 2.0 * slope * out[2] - r * (u + out[3]);
  }
  void log_density(double x, double out[3]) const override {
    out[2] = -std::exp(x);
    out[1] = 1.0 + out[2];
    out[0] = x + out[2];
  }
  // The singularities nearest to the real line are log(2 pi k) +- i pi / 2, k = 1, 2, ..
  Smoothness smoothness() const override { return {1.57079632679489661923, 0.0}; }

 private:
  static constexpr double series_end = 0.25, negligible = 700.0;
  static void sum_series(double u, double out[5]) {
    static constexpr double even[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                      -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000};
    const double square = u * u;
    double n = 2.0, power = square;
    out[1] = 1.0 - 0.5 * u;
    out[2] = out[3] = out[4] = -0.5 * u;
    for (const double b : even) {
      const double term = b * power;
      out[1] += term;
      out[2] += n * term;
      out[3] += n * n * term;
      out[4] += n * n * n * term;
      n += 2.0;
      power *= square;
    }
  }
};

class LogCauchy final : public StandardFunction {
 public:
  double value(double x) const override {
    double f[5];
    derivatives(x, f);
    return f[0];
  }
  // F(x) = F(infinity) - F(0 - x)
  void derivatives(double x, double out[5]) const override { log_cauchy_interval_derivatives(0.0, infinity, x, out); }
  bool heavy_tailed() const override { return true; }
  void log_density(double x, double out[3]) const override {
    constexpr double log_pi = 1.14472988584940017414;
    const double share = 1.0 / (1.0 + x * x);
    out[0] = -log_pi - std::log1p(x * x);
    out[1] = -2.0 * x * share;
    out[2] = 2.0 * share * (1.0 - 2.0 * share);
  }
  // The branch points of atan are +-i.
  Smoothness smoothness() const override { return {1.0, 0.0}; }
};

}  // namespace

const StandardFunction& log_sigmoid() {
  static const LogSigmoid function;
  return function;
}

const StandardFunction& log_phi() {
  static const LogPhi function;
  return function;
}

const StandardFunction& log_gumbel() {
  static const LogGumbel function;
  return function;
}

const StandardFunction& log_cloglog() {
  static const LogCloglog function;
  return function;
}

const StandardFunction& log_cauchy() {
  static const LogCauchy function;
  return function;
}

}  // namespace galvi
