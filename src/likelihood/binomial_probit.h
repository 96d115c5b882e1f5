// Binomial counts, probit link.
#pragma once

#include "likelihood/binomial.h"
#include "likelihood/normal.h"

namespace galvi {

/// f(x) = log Phi(x); the zeros of Phi nearest to the real line are at 1.916 +- 2.816i.
class LogNormalCdf final : public StandardFunction {
 public:
  double value(double x) const override { return log_normal_cdf(x); }
  void derivatives(double x, double out[5]) const override { log_normal_cdf_derivatives(x, out); }
  Smoothness smoothness() const override { return {2.816, 0.0}; }
};

class BinomialProbit final : public Binomial {
 public:
  BinomialProbit() : Binomial(log_phi()) {}
  // The probit of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return normal_quantile((datum.y + 0.5) / (datum.size + 1.0));
  }
  // E Phi(eta) = Phi(mean / sqrt(1 + variance))
  std::optional<double> predictive_mean(double size, double mean, double variance) const override {
    return size * normal_cdf(mean / std::sqrt(1.0 + variance));
  }
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    if (datum.size != 1.0) return std::nullopt;
    return log_normal_cdf((datum.y > 0.0 ? mean : -mean) / std::sqrt(1.0 + variance));
  }

 private:
  static const StandardFunction& log_phi() {
    static const LogNormalCdf function;
    return function;
  }
};

}  // namespace galvi
