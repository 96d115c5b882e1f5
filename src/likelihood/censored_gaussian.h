// A Gaussian response, identity link, of which some rows are censored or truncated: the tobit model.
#pragma once

#include "likelihood/censored_normal.h"
#include "likelihood/identity_link.h"

namespace galvi {

class CensoredGaussian final : public CensoredNormal<IdentityLink> {
 public:
  explicit CensoredGaussian(const LikelihoodSpec& spec) : CensoredNormal<IdentityLink>(spec, "variance") {}

  // A censored response is one sd beyond what is known of it.
  double starting_eta(const Datum& datum) const override {
    if (!datum.censored()) return datum.y;
    if (datum.upper == infinity) return datum.y + sd();
    return datum.y == -infinity ? datum.upper - sd() : 0.5 * datum.y + 0.5 * datum.upper;
  }
  double conditional_variance(double /*size*/, const double* /*eta*/) const override { return sd() * sd(); }
  std::optional<double> predictive_noise(double, double, double) const override { return sd() * sd(); }

 protected:
  double scaled(double y) const override { return y; }
  double response(double s) const override { return s; }
  double log_slope(double /*y*/) const override { return 0.0; }
  double sd_of(double variance) const override { return std::sqrt(variance); }
  double d_sd(double sd) const override { return 0.5 / sd; }
};

}  // namespace galvi
