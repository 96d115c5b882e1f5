// Responses that are normal on some scale, with censored or truncated rows and a linear predictor of the log
// standard deviation.
#pragma once

#include <cmath>
#include <limits>

#include "function/normal.h"
#include "likelihood/censored_gaussian.h"
#include "likelihood/datum_sum.h"
#include "likelihood/identity_link.h"
#include "likelihood/log_parameter.h"
#include "likelihood/lognormal.h"
#include "likelihood/scaled_loss.h"

namespace galvi {

/// A response that is known to be in (low, high], -infinity or infinity where a bound is not known:
/// log Phi((high - eta) / sd) + log Phi((eta - low) / sd), which is the log probability where an end is infinite.
/// That of an interval is log [Phi(b) - Phi(a)], a = (low - eta) / sd and b likewise, and
///   Phi(b) Phi(-a) = Phi(b) - Phi(a) + Phi(a) Phi(-b),
/// whose last part is at most exp(-(b - a)^2 / 4) of the others. Sampled means serve any sd, where an interval of
/// many sds would need nodes as dense as its sd from end to end.
class NormalBounds final : public DatumSum {
 public:
  static constexpr double least_width = 12.0;  // of an interval, in sds: exp(-36)

  NormalBounds(double low, double high, double sd) : DatumSum(log_phi()), low_(low), high_(high), sd_(sd) {}
  void compose(const Datum&, Composition& sum) const override {
    if (high_ < infinity) sum.add(0, 1.0, -1.0 / sd_, high_ / sd_);
    if (low_ > -infinity) sum.add(0, 1.0, 1.0 / sd_, -low_ / sd_);
  }

 private:
  double low_, high_, sd_;
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
  PreparedRows prepare(Data data) const override { return this->prototype_.prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray log_sd = eta.col(1).array().max(-700.0).min(700.0);
    RowArray precision = -log_sd;
    exp_each(precision);
    const RowArray z = (eta.col(0) - rows.constants.col(Base::known)).array() * precision;
    Base::with_standardised(rows, z, precision, log_sd, out);
  }
  // The zeros of Phi, and of an interval's probability, lie within an angle of 45 degrees: those of functions of
  // exp(-eta_2) at a distance of pi / 4.
  Nesting nesting(const Datum&, const double*, const double*) const override { return {1, {0.75, 2.0}}; }
  std::unique_ptr<Likelihood> inner(const Datum& datum, double outer) const override {
    const double low = this->prototype_.scaled(datum.y), high = this->prototype_.scaled(datum.upper);
    const bool wide = high - low >= NormalBounds::least_width * positive_exp(outer);  // or without an end
    if (!datum.censored() || !wide || this->prototype_.truncated(datum)) return this->given(outer);
    return std::make_unique<NormalBounds>(low, high, positive_exp(outer));
  }
  // A bound does not tell how far beyond it the response is.
  double last_of(const Datum& datum, double mean, double variance) const override {
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
