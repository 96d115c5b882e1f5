// Responses that are normal on some scale, with censored or truncated rows and a linear predictor of the log
// standard deviation.
#pragma once

#include <cmath>
#include <limits>

#include "likelihood/censored_gaussian.h"
#include "likelihood/composed.h"
#include "likelihood/identity_link.h"
#include "likelihood/log_parameter.h"
#include "likelihood/lognormal.h"
#include "likelihood/normal.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// A response of which one bound is known: log Phi(sign (bound - eta) / sd), sign = 1 if it is the upper one.
class NormalBound final : public Composed {
 public:
  NormalBound(double bound, double sd, double sign) : Composed(log_phi()), bound_(bound), sd_(sd), sign_(sign) {}
  void compose(const Datum&, Composition& sum) const override {
    sum.add(0, 1.0, -sign_ / sd_, sign_ * bound_ / sd_);
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum&) const override { return bound_; }
  double conditional_mean(double, const double* eta) const override { return *eta; }
  double conditional_variance(double, const double*) const override { return sd_ * sd_; }
  double conditional_cdf(const Datum&, const double*) const override { return 1.0; }
  bool discrete() const override { return false; }
  Support support(double) const override { return {-infinity, infinity}; }

 private:
  double bound_, sd_, sign_;
};

/// s(y) ~ N(eta_1, exp(2 eta_2)), with s and the kinds of rows of Base, a CensoredNormal. Rows that are
/// neither censored nor truncated have the closed form of gaussian responses.
template <class Base>
class CensoredNormalLogSd : public LogParameter<Base> {
 public:
  explicit CensoredNormalLogSd(const LikelihoodSpec& spec) : LogParameter<Base>(spec) {}

  bool has_closed_form() const override { return this->prototype_.has_closed_form(); }
  bool row_has_closed_form(const Datum& datum) const override { return this->prototype_.plain(datum); }
  void add_closed_form(const Datum& datum, const double* mean, const double* variance,
                       RowExpectation& out) const override {
    const double constant = this->prototype_.log_slope(datum.y) - log_sqrt_2pi;
    ScaledLoss::add_gaussian(constant, this->prototype_.scaled(datum.y), mean, variance, out);
  }
  // The zeros of Phi, and of an interval's probability, lie within an angle of 45 degrees: those of functions of
  // exp(-eta_2) at a distance of pi / 4.
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {0.75, 2.0}}; }
  std::unique_ptr<Likelihood> inner(const Datum& datum, double outer) const override {
    const double low = this->prototype_.scaled(datum.y), high = this->prototype_.scaled(datum.upper);
    const bool one_bound = datum.censored() && (low == -infinity || high == infinity);
    if (!one_bound || this->prototype_.truncated(datum)) return this->given(outer);
    return std::make_unique<NormalBound>(high == infinity ? low : high, positive_exp(outer),
                                         high == infinity ? -1.0 : 1.0);
  }
  // A bound does not tell how far beyond it the response is.
  double second_of(const Datum& datum, double mean, double variance) const override {
    if (datum.censored()) return std::numeric_limits<double>::quiet_NaN();
    return std::log(std::hypot(this->prototype_.scaled(datum.y) - mean, std::sqrt(variance)));
  }
  bool concave_in_each() const override { return has_closed_form(); }
};

class CensoredGaussianLogSd final : public CensoredNormalLogSd<CensoredGaussian> {
 public:
  using CensoredNormalLogSd<CensoredGaussian>::CensoredNormalLogSd;
  NoiseForm noise_form() const override { return NoiseForm::square; }
};

class LognormalLogSigma final : public CensoredNormalLogSd<Lognormal> {
 public:
  using CensoredNormalLogSd<Lognormal>::CensoredNormalLogSd;
  // E[y | eta] = exp(eta_1 + exp(2 eta_2) / 2)
  NoiseForm noise_form() const override { return NoiseForm::no_mean; }
};

}  // namespace galvi
