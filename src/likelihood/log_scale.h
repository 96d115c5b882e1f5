// Positive responses that eta scales, as in accelerated failure times.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

/// y = unit exp(power eta) T with a T > 0 whose distribution does not depend on eta.
template <class Base>
class LogScale : public Base {
 public:
  using Base::Base;

  // A censored time lasts as long again, or was half as long.
  double starting_eta(const Datum& datum) const override {
    return (std::log(typical(datum)) - log_unit()) / power();
  }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  double conditional_mean(const Datum& /*row*/, const double* eta) const override {
    return std::exp(log_unit() + power() * *eta + log_moment(1));
  }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return scaled_variance(log_unit() + power() * *eta);
  }
  // P(Y <= y | eta) is the likelihood of a response that is only known not to exceed y.
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return datum.y > 0.0 ? std::exp(this->log_density(at_most(datum), eta)) : 0.0;
  }
  // -d P(Y <= y | eta) / d eta = power y p(y | eta)
  std::optional<Crossing> crossing(const Datum&) const override {
    return power() > 0.0 ? Crossing{} : Crossing{0.0, 1.0};
  }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    this->derivatives({datum.y, datum.size}, t, l);
    out[0] = std::log(std::fabs(power()) * datum.y) + l[0];
    out[1] = l[1];
    out[2] = l[2];
  }

  Truncation truncation() const override { return Truncation::possible; }
  std::optional<double> predictive_log_mean(double mean, double variance) const override {
    return log_unit() + power() * (mean + 0.5 * power() * variance) + log_moment(1);
  }
  std::optional<double> predictive_mean(const Datum& /*row*/, double mean, double variance) const override {
    return std::exp(*predictive_log_mean(mean, variance));
  }
  // Var exp(eta) = exp(2 mean + 2 variance) (1 - exp(-variance)), here of power eta
  std::optional<double> predictive_mean_variance(const Datum& /*row*/, double mean,
                                                 double variance) const override {
    if (variance == 0.0) return 0.0;
    const double v = power() * power() * variance;
    return std::exp(2.0 * (log_unit() + power() * mean + v + log_moment(1))) * -std::expm1(-v);
  }
  std::optional<double> predictive_noise(const Datum& /*row*/, double mean, double variance) const override {
    return scaled_variance(log_unit() + power() * (mean + power() * variance));
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    if (variance > 0.0 || !(datum.y > 0.0)) return std::nullopt;
    return Tails{conditional_cdf(datum, &mean), std::exp(this->log_density(above(datum), &mean))};
  }

  // Of a known eta; others are searched for.
  std::optional<double> predictive_quantile(const Datum& row, double mean, double variance,
                                            double probability) const override {
    const std::optional<double> own = log_quantile(probability);
    if (!own || variance > 0.0 || row.truncated()) return std::nullopt;
    return std::exp(log_unit() + power() * mean + *own);
  }

 protected:
  /// A time that is known to lie between the ends of its row.
  static Datum within(const Datum& row) { return {std::max(row.entry, 0.0), row.size, row.exit}; }
  /// log E T^p, p = 1 or 2: infinite where there is none.
  virtual double log_moment(int p) const = 0;
  /// log of the p-quantile of T, where it has a formula.
  virtual std::optional<double> log_quantile(double /*probability*/) const { return std::nullopt; }
  virtual double power() const { return 1.0; }
  virtual double log_unit() const { return 0.0; }

 private:
  static double typical(const Datum& datum) {
    if (!datum.censored()) return datum.y;
    if (datum.upper == infinity) return 2.0 * datum.y;
    return datum.y > 0.0 ? std::sqrt(datum.y) * std::sqrt(datum.upper) : 0.5 * datum.upper;
  }
  static Datum at_most(const Datum& datum) { return {0.0, datum.size, datum.y}; }
  static Datum above(const Datum& datum) { return {datum.y, datum.size, infinity}; }
  // exp(2 at) Var T = exp(2 at) [E T^2 - (E T)^2]
  double scaled_variance(double at) const {
    const double second = log_moment(2);
    if (second == infinity) return infinity;
    const double square = 2.0 * log_moment(1);
    return std::exp(2.0 * at + square) * std::expm1(second - square);
  }
};

}  // namespace galvi
