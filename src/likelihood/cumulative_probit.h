// Ordered classes, probit link.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/elementwise.h"
#include "function/normal.h"
#include "function/normal_interval.h"
#include "likelihood/thresholds.h"

namespace galvi {

/// P(y <= c | eta) = Phi(threshold_c - eta):  log p(y | eta) = log [Phi(b - eta) - Phi(a - eta)] between the
/// thresholds a < b, log Phi(b - eta) in the first class and log Phi(eta - a) in the last.
class CumulativeProbit final : public Likelihood {
 public:
  explicit CumulativeProbit(const LikelihoodSpec& spec) : thresholds_(spec) {}
  void update(const ConstVectorRef& hyper) override { thresholds_.update(hyper); }

  double log_density(const Datum& datum, const double* eta) const override {
    return log_probability(datum, *eta, 1.0);
  }
  // log [Phi(b) - Phi(a)] = log Phi(b) + log(1 - exp(d)), d = log Phi(a) - log Phi(b), of the interval or its mirror
  // image on the left. Narrow ones are left to log_density().
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    constexpr double narrow = 1e-3;
    RowArray low(rows.size()), high(rows.size());
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum{rows.data.y[n], 1.0};
      const double a = thresholds_.first(datum) ? -infinity : thresholds_.below(datum) - eta(n, 0);
      const double b = thresholds_.last(datum) ? infinity : thresholds_.above(datum) - eta(n, 0);
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
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    if (thresholds_.last(datum)) return log_normal_cdf_derivatives(eta - thresholds_.below(datum), out);
    if (thresholds_.first(datum)) {
      log_normal_cdf_derivatives(thresholds_.above(datum) - eta, out);
      out[1] = -out[1];
      out[3] = -out[3];
      return;
    }
    log_normal_interval_derivatives(thresholds_.below(datum), thresholds_.above(datum), eta, out);
  }
  // The zeros of Phi nearest to the real line are at +-2.816i, those of an interval's probability for no
  // width nearer than 2.58 and beyond 2 pi / width (found numerically).
  Smoothness smoothness() const override { return {nearest_zero, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    if (thresholds_.first(datum)) return {2.816, 0.0, thresholds_.above(datum)};
    if (thresholds_.last(datum)) return {2.816, 0.0, thresholds_.below(datum)};
    const double width = thresholds_.above(datum) - thresholds_.below(datum);
    return {std::max(nearest_zero, 6.28318530717958647692 / width), 0.0, thresholds_.inside(datum),
            0.5 * width};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return thresholds_.inside(datum); }

  Index classes() const override { return thresholds_.classes(); }
  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return moments(*eta).mean; }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return moments(*eta).variance;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return predictive_tails(datum, *eta, 0.0)->lower;
  }
  bool discrete() const override { return true; }
  Support support(const Datum& /*row*/) const override { return {0.0, static_cast<double>(classes() - 1)}; }

  // E Phi(b - eta) = Phi((b - mean) / sqrt(1 + variance))
  std::optional<double> predictive_log_density(const Datum& datum, double mean,
                                               double variance) const override {
    return log_probability(datum, mean, 1.0 / std::sqrt(1.0 + variance));
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    if (datum.y < 0.0) return Tails{0.0, 1.0};
    const Datum whole{std::floor(datum.y), 1.0};
    if (thresholds_.last(whole)) return Tails{1.0, 0.0};
    const double z = (thresholds_.above(whole) - mean) / std::sqrt(1.0 + variance);
    return Tails{normal_cdf(z), normal_cdf(-z)};
  }

  // d log p / db = phi(b - eta) / p,  d log p / da = -phi(a - eta) / p
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double log_p = log_density(datum, eta);
    auto ratio = [&](double threshold) {
      const double t = threshold - *eta;
      return std::exp(-0.5 * t * t - log_sqrt_2pi - log_p);
    };
    if (!thresholds_.last(datum))
      gradient[thresholds_.above_position(datum)] += weight * ratio(thresholds_.above(datum));
    if (!thresholds_.first(datum))
      gradient[thresholds_.below_position(datum)] -= weight * ratio(thresholds_.below(datum));
  }
  bool has_hyper() const override { return true; }

 private:
  static constexpr double nearest_zero = 2.58;
  // With eta and the thresholds divided by the sd of the response's latent value.
  double log_probability(const Datum& datum, double eta, double scale) const {
    if (thresholds_.last(datum)) return log_normal_cdf(scale * (eta - thresholds_.below(datum)));
    if (thresholds_.first(datum)) return log_normal_cdf(scale * (thresholds_.above(datum) - eta));
    return log_normal_interval(scale * thresholds_.below(datum), scale * thresholds_.above(datum),
                               scale * eta);
  }
  ClassMoments moments(double eta) const {
    return class_moments(thresholds_, [&](double threshold) { return normal_cdf(eta - threshold); });
  }

  Thresholds thresholds_;
};

}  // namespace galvi
