// Positive responses, log link, with a shape that may be learned.
#pragma once

#include "likelihood/gamma_response.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

class Gamma final : public GammaResponse {
 public:
  explicit Gamma(const LikelihoodSpec& spec) : parameter_(spec, "shape") {}
  void update(const ConstVectorRef& hyper) override {
    set_shape(parameter_.read(hyper));
    log_less_digamma_ = std::log(shape_) - digamma(shape_);
  }

  // d log p / d shape = log a - psi(a) + 1 + d - exp(d), d = log y - eta
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double d = std::log(datum.y) - *mean;
    gradient[parameter_.position()] += weight * (log_less_digamma_ + d - std::expm1(d + 0.5 * *variance));
    return true;
  }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter parameter_;
  double log_less_digamma_ = 0.57721566490153286061;
};

}  // namespace galvi
