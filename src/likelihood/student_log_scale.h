// A response with heavy tails whose log scale has a linear predictor of its own.
#pragma once

#include "likelihood/distributional.h"
#include "likelihood/student.h"

namespace galvi {

/// With a known scale; the slope in df is that of the whole, at its position.
class StudentKnownScale final : public StudentResponse {
 public:
  StudentKnownScale(double df, double scale, double constant_slope, Index position)
      : constant_slope_(constant_slope), position_(position) {
    set(df, scale);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    gradient[position_] += weight * (constant_slope_ + slope_in_df(*eta - datum.y));
  }
  bool has_hyper() const override { return true; }

 private:
  double constant_slope_;
  Index position_;
};

/// y = eta_1 + exp(eta_2) T, T of Student's t with df degrees of freedom. Concave in eta_2, not in eta_1.
class StudentLogScale final : public SecondParameter {
 public:
  explicit StudentLogScale(const LikelihoodSpec& spec) : parameter_(spec, "df") {}
  void update(const ConstVectorRef& hyper) override {
    df_ = parameter_.read(hyper);
    constant_slope_ = StudentResponse::constant_slope_in_df(df_);
  }
  std::unique_ptr<Likelihood> given(double second) const override {
    return std::make_unique<StudentKnownScale>(df_, positive_exp(second), constant_slope_, parameter_.position());
  }
  // 1 + r^2 exp(-2 eta_2) / df is zero at a distance of pi / 2.
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {1.4, 1.0}}; }
  double second_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter parameter_;
  double df_ = 4.0, constant_slope_ = 0.0;
};

}  // namespace galvi
