// Responses that are zero or positive, log link, with a linear predictor of the log dispersion.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "likelihood/log_parameter.h"
#include "likelihood/tweedie.h"

namespace galvi {

/// Mean exp(eta_1), variance exp(eta_2 + power eta_1) / size.
class TweedieLogDispersion final : public LogParameter<Tweedie> {
 public:
  explicit TweedieLogDispersion(const LikelihoodSpec& spec) : LogParameter<Tweedie>(spec) {}

  // The density's series is Wright's function of a negative power, -1 / (power - 1), of the dispersion, whose
  // zeros are on the negative half line.
  Nesting nesting(const Datum& datum, const double*, const double*) const override {
    return {1, {datum.y > 0.0 ? 0.9 * pi * (prototype_.power() - 1.0) : infinity, 1.0, std::log(datum.size)}};
  }
  // Var[log y | eta] is about dispersion / y^(2 - power); a zero says little of it.
  double last_of(const Datum& datum, double mean, double variance) const override {
    constexpr double most = 1.0;
    if (!(datum.y > 0.0)) return std::numeric_limits<double>::quiet_NaN();
    const double log_y = std::log(datum.y), spread = std::log(std::hypot(log_y - mean, std::sqrt(variance)));
    return (2.0 - prototype_.power()) * log_y + std::min(most, 2.0 * spread) + std::log(datum.size);
  }
  NoiseForm noise_form() const override { return NoiseForm::direct; }
};

}  // namespace galvi
