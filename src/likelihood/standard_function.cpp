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
  // The poles are at odd multiples of i pi.
  Smoothness smoothness() const override { return {3.14159265358979323846, 0.0}; }
};

class LogPhi final : public StandardFunction {
 public:
  double value(double x) const override { return log_normal_cdf(x); }
  void derivatives(double x, double out[5]) const override { log_normal_cdf_derivatives(x, out); }
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
