// A response with heavy tails whose log scale, and log degrees of freedom, have linear predictors of their own.
#pragma once

#include "likelihood/distributional.h"
#include "likelihood/student.h"

namespace galvi {

class StudentKnownScale final : public StudentResponse {
 public:
  StudentKnownScale(double df, double scale) { set(df, scale); }
};

/// y = eta_1 + exp(eta_2) T, T of Student's t with df degrees of freedom. Concave in eta_2, not in eta_1.
class StudentLogScale final : public PredictedParameter {
 public:
  explicit StudentLogScale(const LikelihoodSpec& spec) : parameter_(spec, "df") {}
  explicit StudentLogScale(double df) { set_df(df); }
  void update(const ConstVectorRef& hyper) override {
    set_df(parameter_.read(hyper));
    constant_slope_ = StudentResponse::constant_slope_in_df(df_);
  }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<StudentKnownScale>(df_, positive_exp(last));
  }
  std::optional<StudentScale> student_scale(const Datum& datum) const override {
    return StudentScale{datum.y, df_, constant_, constant_slope_, parameter_.position()};
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_scale = eta.col(1).array().max(-700.0).min(700.0);
    RowArray precision = -log_scale;
    exp_each(precision);
    RowArray spread = ((eta.col(0) - rows.data.y).array() * precision).square() / df_;
    log1p_each(spread);
    out = constant_ - log_scale - 0.5 * (df_ + 1.0) * spread;
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }
  bool has_hyper() const override { return parameter_.in_table(); }

 private:
  void set_df(double df) {
    df_ = df;
    constant_ = StudentResponse::constant_of(df);
  }
  PositiveParameter parameter_;
  double df_ = 4.0, constant_ = 0.0, constant_slope_ = 0.0;
};

/// The same with df = exp(eta_3).
class StudentLogScaleLogDf final : public PredictedParameter {
 public:
  Index latents() const override { return 3; }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<StudentLogScale>(positive_exp(last));
  }
  // log Gamma(x + 1 / 2) - log Gamma(x), x = df / 2, by what Stirling's formula leaves of both
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double log_2 = 0.69314718055994530942;
    const RowArray log_scale = eta.col(1).array().max(-700.0).min(700.0);
    const RowArray log_x = eta.col(2).array().max(-700.0).min(700.0) - log_2;
    RowArray x = log_x, precision = -log_scale;
    exp_each(x);
    exp_each(precision);
    RowArray error(rows.size()), next = x + 0.5;
    stirling_error_each(log_x, error);
    out = -0.5 - log_sqrt_2pi - log_scale - error;
    log_each(next);
    stirling_error_each(next, error);
    out += error;
    RowArray rise = 0.5 / x;
    log1p_each(rise);
    RowArray spread = ((eta.col(0) - rows.data.y).array() * precision).square() * (0.5 / x);
    log1p_each(spread);
    out += x * rise - (x + 0.5) * spread;
  }
  std::optional<StudentTails> student_tails(const Datum& datum) const override { return StudentTails{datum.y}; }
  // The constant has poles where df is -1, -3, ..; log(1 + x^2 / df) is singular at df = -x^2.
  Nesting nesting(const Datum&, const double*, const double*) const override { return {2, {2.6, 1.0}}; }
  // A single response does not determine the tails.
  double last_of(const Datum&, double, double) const override { return std::log(10.0); }
  // Var[y | eta] = exp(2 eta_2) df / (df - 2), infinite where df <= 2
  NoiseForm noise_form() const override { return NoiseForm::general; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
