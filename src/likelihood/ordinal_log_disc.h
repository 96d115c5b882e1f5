// Ordered classes whose log discrimination, the inverse scale of the latent response, has a linear predictor.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/adjacent_category.h"
#include "likelihood/cumulative_logit.h"
#include "likelihood/cumulative_probit.h"
#include "likelihood/distributional.h"
#include "likelihood/sequential.h"

namespace galvi {

/// Base of exp(eta_2) (threshold_j - eta_1) in the place of threshold_j - eta_1.
template <class Base>
class OrdinalLogDisc : public PredictedParameter {
 public:
  template <class... Arguments>
  explicit OrdinalLogDisc(const Smoothness& smoothness, const LikelihoodSpec& spec, Arguments&&... arguments)
      : smoothness_(smoothness), prototype_(spec, arguments...) {}

  void update(const ConstVectorRef& hyper) override { prototype_.update(hyper); }
  bool has_hyper() const override { return true; }
  std::unique_ptr<Likelihood> given(double last) const override { return scaled(last); }
  std::unique_ptr<Likelihood> inner(const Datum& datum, double outer) const override {
    auto own = scaled(outer);
    if (auto composed = own->as_composed(datum)) return composed;
    return own;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray scale(rows.size());
    for (Index n = 0; n < rows.size(); ++n) scale[n] = scale_of(eta(n, 1));
    if (!prototype_.scaled_log_densities(rows, eta, scale, out)) Likelihood::log_densities(rows, eta, out);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    scaled(eta[1])->add_gradient(datum, eta, weight, gradient);
  }
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, smoothness_}; }
  // A single response says little of the scale.
  double last_of(const Datum&, double, double) const override { return 0.0; }
  NoiseForm noise_form() const override { return NoiseForm::general; }
  bool log_concave() const override { return false; }
  Index classes() const override { return prototype_.classes(); }

 protected:
  Smoothness smoothness_;

 private:
  // Products of further scales would overflow.
  static double scale_of(double last) {
    constexpr double furthest = 300.0;
    return std::exp(std::clamp(last, -furthest, furthest));
  }
  std::unique_ptr<Base> scaled(double last) const {
    auto out = std::make_unique<Base>(prototype_);
    out->multiply(scale_of(last));
    return out;
  }
  Base prototype_;
};

// Where functions of s = eta_2 have singularities: those of log sigmoid(exp(s) t), t real, at a distance of pi / 2.
constexpr Smoothness logistic_in_log_scale{1.4, 1.0};
// The zeros of Phi, and of an interval's probability, lie within an angle of 45 degrees.
constexpr Smoothness normal_in_log_scale{0.75, 2.0};

class CumulativeLogitLogDisc final : public OrdinalLogDisc<CumulativeLogit> {
 public:
  explicit CumulativeLogitLogDisc(const LikelihoodSpec& spec)
      : OrdinalLogDisc<CumulativeLogit>(logistic_in_log_scale, spec) {}
};

class CumulativeProbitLogDisc final : public OrdinalLogDisc<CumulativeProbit> {
 public:
  explicit CumulativeProbitLogDisc(const LikelihoodSpec& spec)
      : OrdinalLogDisc<CumulativeProbit>(normal_in_log_scale, spec) {}
};

class SequentialLogitLogDisc final : public OrdinalLogDisc<Sequential> {
 public:
  explicit SequentialLogitLogDisc(const LikelihoodSpec& spec)
      : OrdinalLogDisc<Sequential>(logistic_in_log_scale, spec, logistic()) {}
};

class SequentialProbitLogDisc final : public OrdinalLogDisc<Sequential> {
 public:
  explicit SequentialProbitLogDisc(const LikelihoodSpec& spec)
      : OrdinalLogDisc<Sequential>(normal_in_log_scale, spec, normal()) {}
};

/// A sum of C exponentials exp(c exp(s) t), the largest 1, has no zeros where the angle of exp(s) leaves the others
/// either a positive real part or less than 1 / (C - 1): for tan(angle) < pi / 2 / log(C - 1).
class AdjacentCategoryLogDisc final : public OrdinalLogDisc<AdjacentCategory> {
 public:
  explicit AdjacentCategoryLogDisc(const LikelihoodSpec& spec)
      : OrdinalLogDisc<AdjacentCategory>(logistic_in_log_scale, spec) {
    constexpr double share = 0.9;  // of that angle
    const double others = static_cast<double>(classes()) - 1.0;
    smoothness_.width = std::min(smoothness_.width, share * std::atan2(0.5 * pi, std::log(others)));
  }
};

}  // namespace galvi
