// Ordered classes, probit link.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/elementwise.h"
#include "function/normal.h"
#include "function/normal_interval.h"
#include "likelihood/ordered.h"
#include "likelihood/threshold_sum.h"

namespace galvi {

/// P(y <= c | eta) = Phi(threshold_c - x), x = scale eta:  log p(y | eta) = log [Phi(b - x) - Phi(a - x)] between the
/// thresholds a < b, log Phi(b - x) in the first class and log Phi(x - a) in the last.
class CumulativeProbit final : public CumulativeResponse<Likelihood> {
 public:
  explicit CumulativeProbit(const LikelihoodSpec& spec) : CumulativeResponse<Likelihood>(Thresholds(spec, true), normal()) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return log_probability(datum, *eta, 1.0);
  }
  // log [Phi(b) - Phi(a)] = log Phi(b) + log(1 - exp(d)), d = log Phi(a) - log Phi(b), of the interval or its mirror
  // image on the left. Narrow ones are left to log_density().
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    scaled_log_densities(rows, eta, RowArray::Ones(rows.size()), out);
  }
  bool scaled_log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& scale,
                            ArrayRef out) const override {
    constexpr double narrow = 1e-3;
    RowArray low(rows.size()), high(rows.size());
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum{rows.data.y[n], 1.0};
      const double x = thresholds_.scale() * eta(n, 0);
      const double a = scale[n] * (thresholds_.below(datum) - x), b = scale[n] * (thresholds_.above(datum) - x);
      const bool left = a + b <= 0.0;
      low[n] = left ? a : -b;
      high[n] = left ? b : -a;
    }
    log_normal_cdf_each(low);
    log_normal_cdf_each(high);
    RowArray rest = low - high;
    for (double& d : rest)
      if (!(d < -narrow)) d = std::numeric_limits<double>::quiet_NaN();
    exp_each(rest);
    rest = 1.0 - rest;
    log_each(rest);
    out = high + rest;
    return true;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double scale = thresholds_.scale();
    log_normal_share_derivatives(thresholds_.below(datum), thresholds_.above(datum), scale * eta, out);
    for (int k = 1; k < 5; ++k)
      for (int j = 0; j < k; ++j) out[k] *= scale;
  }
  // The zeros of Phi nearest to the real line are at +-2.816i, those of an interval's probability for no
  // width nearer than 2.58 and beyond 2 pi / width (found numerically).
  Smoothness smoothness() const override { return {nearest_zero / thresholds_.scale(), 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    const double scale = thresholds_.scale();
    if (thresholds_.first(datum)) return {2.816 / scale, 0.0, thresholds_.above(datum) / scale};
    if (thresholds_.last(datum)) return {2.816 / scale, 0.0, thresholds_.below(datum) / scale};
    const double width = thresholds_.above(datum) - thresholds_.below(datum);
    return {std::max(nearest_zero, 6.28318530717958647692 / width) / scale, 0.0,
            thresholds_.inside(datum) / scale, 0.5 * width / scale};
  }

  // E Phi(b - x) = Phi((b - E x) / sqrt(1 + Var x))
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    return log_probability(datum, mean, shrinkage(variance));
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    if (datum.y < 0.0) return Tails{0.0, 1.0};
    const Datum whole{std::floor(datum.y), 1.0};
    if (thresholds_.last(whole)) return Tails{1.0, 0.0};
    const double z = (thresholds_.above(whole) - thresholds_.scale() * mean) * shrinkage(variance);
    return Tails{normal_cdf(z), normal_cdf(-z)};
  }

  // d log p / db = phi(b - x) / p,  d log p / da = -phi(a - x) / p
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Index c = thresholds_.class_of(datum);
    const double log_p = log_density(datum, eta);
    const auto ratio = [&](double threshold) {
      const double t = threshold - thresholds_.scale() * *eta;
      return std::exp(-0.5 * t * t - log_sqrt_2pi - log_p);
    };
    if (!thresholds_.last(datum)) thresholds_.add(c, weight * ratio(thresholds_.above(datum)), gradient);
    if (!thresholds_.first(datum))
      thresholds_.add(c - 1, -weight * ratio(thresholds_.below(datum)), gradient);
  }
  // Phi(b) Phi(-a) = Phi(b) - Phi(a) + Phi(a) Phi(-b), whose last part is at most exp(-(b - a)^2 / 4) of the others.
  std::unique_ptr<Likelihood> as_composed(const Datum& datum) const override {
    constexpr double least_width = 12.0;
    if (!(thresholds_.above(datum) - thresholds_.below(datum) >= least_width)) return nullptr;
    const Index c = thresholds_.class_of(datum);
    return std::make_unique<ThresholdSum>(thresholds_, log_phi(), datum, std::max<Index>(0, c - 1),
                                          std::min(c, classes() - 2));
  }

 private:
  static constexpr double nearest_zero = 2.58;
  double shrinkage(double variance) const {
    const double scale = thresholds_.scale();
    return 1.0 / std::sqrt(1.0 + scale * scale * variance);
  }
  // With x and the thresholds multiplied by `unit`, one divided by the sd of the response's latent value.
  double log_probability(const Datum& datum, double eta, double unit) const {
    const double x = unit * thresholds_.scale() * eta, a = unit * thresholds_.below(datum),
                 b = unit * thresholds_.above(datum);
    if (thresholds_.last(datum)) return log_normal_cdf(x - a);
    if (thresholds_.first(datum)) return log_normal_cdf(b - x);
    return log_normal_interval(a, b, x);
  }
};

}  // namespace galvi
