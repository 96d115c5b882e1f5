// Times with a hazard that may rise and fall whose log shape has a linear predictor of its own.
#pragma once

#include "likelihood/log_parameter.h"
#include "likelihood/loglogistic.h"

namespace galvi {

/// P(Y > y | eta) = 1 / (1 + exp(x)), x = exp(eta_2) (log y - eta_1).
class LoglogisticLogShape final : public LogParameter<Loglogistic> {
 public:
  explicit LoglogisticLogShape(const LikelihoodSpec& spec) : LogParameter<Loglogistic>(spec) {}

  // The poles, x = i pi and that of an interval, are at a distance of pi / 2.
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {1.4, 1.0}}; }
  PreparedRows prepare(Data data) const override { return prototype_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_shape = eta.col(1).array().max(-700.0).min(700.0);
    RowArray shape = log_shape;
    exp_each(shape);
    const RowArray x = shape * (eta.col(0) - rows.constants.col(Loglogistic::log_time)).array();
    Loglogistic::with_arguments(rows, x, shape, log_shape, out);
  }
  double last_of(const Datum&, double, double) const override { return 0.0; }
  // E[y | eta] is infinite wherever the shape is 1 or less.
  NoiseForm noise_form() const override { return NoiseForm::no_mean; }
};

}  // namespace galvi
