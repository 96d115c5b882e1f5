#include "likelihood/standard_function.h"

#include <cmath>

#include "likelihood/normal.h"

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

}  // namespace galvi
