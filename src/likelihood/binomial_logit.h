// Binomial counts, logit link.
#pragma once

#include "likelihood/binomial.h"

namespace galvi {

/// f(x) = log 1 / (1 + exp(-x)); its poles are at odd multiples of i pi.
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
  Smoothness smoothness() const override { return {3.14159265358979323846, 0.0}; }
};

class BinomialLogit final : public Binomial {
 public:
  BinomialLogit() : Binomial(log_sigmoid()) {}
  // The logit of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return std::log((datum.y + 0.5) / (datum.size - datum.y + 0.5));
  }

 private:
  static const StandardFunction& log_sigmoid() {
    static const LogSigmoid function;
    return function;
  }
};

}  // namespace galvi
