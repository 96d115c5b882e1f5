// Times with a normal logarithm, which may be censored and truncated.
#pragma once

#include "likelihood/censored_normal.h"
#include "likelihood/log_scale.h"

namespace galvi {

/// log y ~ N(eta, sigma^2): exp(eta) is the median.
class Lognormal final : public CensoredNormal<LogScale<Likelihood>> {
 public:
  explicit Lognormal(const LikelihoodSpec& spec) : Lognormal(spec, PositiveParameter(spec, "sigma")) {}
  Lognormal(const LikelihoodSpec& spec, PositiveParameter sigma)
      : CensoredNormal<LogScale<Likelihood>>(spec, std::move(sigma)) {}
  double scaled(double y) const override { return std::log(y); }
  double log_slope(double y) const override { return -std::log(y); }

 protected:
  double response(double s) const override { return std::exp(s); }
  double sd_of(double sigma) const override { return sigma; }
  double d_sd(double /*sd*/) const override { return 1.0; }
  double log_moment(int power) const override { return 0.5 * power * power * sd() * sd(); }
};

}  // namespace galvi
