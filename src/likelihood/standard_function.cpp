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

}  // namespace

const StandardFunction& log_sigmoid() {
  static const LogSigmoid function;
  return function;
}

const StandardFunction& log_phi() {
  static const LogPhi function;
  return function;
}

}  // namespace galvi
