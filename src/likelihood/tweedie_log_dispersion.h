// Responses that are zero or positive, log link, with a linear predictor of the log dispersion.
#pragma once

#include <cmath>

#include "likelihood/log_parameter.h"
#include "likelihood/tweedie.h"

namespace galvi {

/// Mean exp(eta_1), variance exp(eta_2 + power eta_1).
class TweedieLogDispersion final : public LogParameter<Tweedie> {
 public:
  explicit TweedieLogDispersion(const LikelihoodSpec& spec) : LogParameter<Tweedie>(spec) {}

  // The density's series is Wright's function of a negative power, -1 / (power - 1), of the dispersion, whose
  // zeros are on the negative half line.
  Nesting nesting(const Datum& datum, const double*, const double*) const override {
    return {1, {datum.y > 0.0 ? 0.9 * pi * (prototype_.power() - 1.0) : infinity, 1.0}};
  }
  // The squared residual is dispersion mean^power.
  double second_of(const Datum& datum, double mean, double variance) const override {
    const double centre = std::exp(mean + 0.5 * variance);
    return std::max(-3.0, 2.0 * std::log(std::fabs(datum.y - centre)) - prototype_.power() * std::log(centre));
  }
  NoiseForm noise_form() const override { return NoiseForm::direct; }
};

}  // namespace galvi
