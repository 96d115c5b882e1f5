// A response with heavy tails whose log scale has a linear predictor of its own.
#pragma once

#include "likelihood/distributional.h"
#include "likelihood/student.h"

namespace galvi {

class StudentKnownScale final : public StudentResponse {
 public:
  StudentKnownScale(double df, double scale) { set(df, scale); }
};

/// y = eta_1 + exp(eta_2) T, T of Student's t with df degrees of freedom. Concave in eta_2, not in eta_1.
class StudentLogScale final : public SecondParameter {
 public:
  explicit StudentLogScale(const LikelihoodSpec& spec) : parameter_(spec, "df") {}
  void update(const ConstVectorRef& hyper) override {
    df_ = parameter_.read(hyper);
    constant_ = StudentResponse::constant_of(df_);
    constant_slope_ = StudentResponse::constant_slope_in_df(df_);
  }
  std::unique_ptr<Likelihood> given(double second) const override {
    return std::make_unique<StudentKnownScale>(df_, positive_exp(second));
  }
  std::optional<StudentScale> student_scale(const Datum& datum) const override {
    return StudentScale{datum.y, df_, constant_, constant_slope_, parameter_.position()};
  }
  double second_of(const Datum& datum, double mean, double variance) const override {
    return std::log(std::hypot(datum.y - mean, std::sqrt(variance)));
  }
  NoiseForm noise_form() const override { return NoiseForm::square; }
  bool log_concave() const override { return false; }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter parameter_;
  double df_ = 4.0, constant_ = 0.0, constant_slope_ = 0.0;
};

}  // namespace galvi
