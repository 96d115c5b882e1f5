// A Gaussian response, identity link, with censored or truncated rows: the tobit model.
#pragma once

#include "likelihood/censored_normal.h"
#include "likelihood/identity_link.h"

namespace galvi {

class CensoredGaussian final : public CensoredNormal<IdentityLink> {
 public:
  explicit CensoredGaussian(const LikelihoodSpec& spec)
      : CensoredGaussian(spec, PositiveParameter(spec, "variance")) {}
  CensoredGaussian(const LikelihoodSpec& spec, PositiveParameter variance)
      : CensoredNormal<IdentityLink>(spec, std::move(variance)) {}

  // Starts a censored response one sd beyond its bound.
  double starting_eta(const Datum& datum) const override {
    if (!datum.censored()) return datum.y;
    if (datum.upper == infinity) return datum.y + sd();
    return datum.y == -infinity ? datum.upper - sd() : 0.5 * datum.y + 0.5 * datum.upper;
  }
  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override { return sd() * sd(); }
  std::optional<double> predictive_noise(const Datum&, double, double) const override { return sd() * sd(); }
  double scaled(double y) const override { return y; }
  double log_slope(double /*y*/) const override { return 0.0; }

 protected:
  double response(double s) const override { return s; }
  double sd_of(double variance) const override { return std::sqrt(variance); }
  double d_sd(double sd) const override { return 0.5 / sd; }
};

}  // namespace galvi
