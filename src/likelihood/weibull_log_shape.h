// Times with proportional hazards, powers of time whose log shape has a linear predictor of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "likelihood/log_parameter.h"
#include "likelihood/weibull.h"

namespace galvi {

/// P(Y > y | eta) = exp(-exp(eta_1) (y / unit)^k), k = exp(eta_2). E (y / unit)^k exists under a Gaussian eta_2 for
/// y <= unit alone, and E exp(-k eta_1), which accelerated failure times would need, never: a log-normal k has no
/// moment generating function.
class WeibullLogShape final : public LogParameter<Weibull> {
 public:
  explicit WeibullLogShape(const LikelihoodSpec& spec) : LogParameter<Weibull>(spec) {
    if (!spec.constants.count("reference"))
      throw std::invalid_argument(spec.type + ": constants must name `reference`, the time at which exp(eta_1) is the cumulative hazard");
  }

  // (y / unit)^k = exp(-tau k) is bounded within a distance of pi / 2 and grows beyond all measure behind it. An
  // interval's probability is 0 where the difference of two cumulative hazards is 2 pi i, which the larger exp(eta_1)
  // is, the sooner the angle of k makes it.
  Nesting nesting(const Datum& datum, const double* mean, const double* variance) const override {
    check_time(datum.y);
    if (!datum.censored() || datum.upper == infinity) return {1, {1.4, 1.0}};
    check_time(datum.upper);
    constexpr double farthest = 5.0, log_two_pi = 1.8378770664093454836;
    const double excess = mean[0] + farthest * std::sqrt(variance[0]) - log_two_pi;
    return {1, {std::min(1.4, 0.9 * std::atan2(0.5 * pi, std::max(excess, 0.0))), 1.0}};
  }
  PreparedRows prepare(Data data) const override { return prototype_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_shape = eta.col(1).array().max(-700.0).min(700.0);
    RowArray shape = log_shape;
    exp_each(shape);
    const RowArray x = shape * rows.constants.col(Weibull::reached).array() + eta.col(0).array();
    Weibull::with_log_hazards(rows, x, shape, log_shape, out);
  }
  double last_of(const Datum&, double, double) const override { return 0.0; }
  // E[y | eta] = unit exp(-eta_1 / k) Gamma(1 + 1 / k)
  NoiseForm noise_form() const override { return NoiseForm::no_mean; }
  // exp(-exp(z)), z = eta_1 + k log(y / unit), rises where z is about 0 and there dz / d eta_2 = z - eta_1.
  double width(const double* mean) const override { return 1.5 / (2.0 + std::fabs(*mean)); }

 private:
  void check_time(double y) const {
    if (std::log(y) > prototype_.log_reference() + 1e-12)
      throw std::domain_error(
          "a time is beyond the `reference` of weibull(form = \"ph\"), where the bound is infinite: give a later one");
  }
};

}  // namespace galvi
