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
    log_less_digamma_ = of_shape(shape());
  }

  // d log p / d shape = size (log a - psi(a) + 1 + d - exp(d)), a = size shape, d = log y - eta
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double known = 0.0;
    add_expected_gradient(datum, eta, &known, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    const double d = std::log(datum.y) - *mean;
    const double constant = datum.size == 1.0 ? log_less_digamma_ : of_shape(datum.size * shape());
    gradient[parameter_.position()] += weight * datum.size * (constant + d - std::expm1(d + 0.5 * *variance));
    return true;
  }
  bool has_hyper() const override { return true; }

 private:
  static double of_shape(double a) { return std::log(a) - digamma(a); }
  PositiveParameter parameter_;
  double log_less_digamma_ = 0.57721566490153286061;
};

}  // namespace galvi
