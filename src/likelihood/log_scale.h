// Positive responses that eta scales: accelerated failure times.
#pragma once

#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

/// y = exp(eta) T with a T > 0 whose distribution does not depend on eta.
template <class Base>
class LogScale : public Base {
 public:
  using Base::Base;

  // A censored time lasts as long again, or was half as long.
  double starting_eta(const Datum& datum) const override {
    if (!datum.censored()) return std::log(datum.y);
    if (datum.upper == infinity) return std::log(2.0 * datum.y);
    return std::log(datum.y > 0.0 ? std::sqrt(datum.y) * std::sqrt(datum.upper) : 0.5 * datum.upper);
  }
  bool discrete() const override { return false; }
  Support support(double /*size*/) const override { return {0.0, infinity}; }

  double conditional_mean(double /*size*/, const double* eta) const override {
    return std::exp(*eta + log_moment(1));
  }
  double conditional_variance(double /*size*/, const double* eta) const override {
    return scaled_variance(*eta);
  }
  // P(Y <= y | eta) is the likelihood of a response that is only known not to exceed y.
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return datum.y > 0.0 ? std::exp(this->log_density(at_most(datum), eta)) : 0.0;
  }
  // -d P(Y <= y | eta) / d eta = y p(y | eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    this->derivatives({datum.y, datum.size}, t, l);
    out[0] = std::log(datum.y) + l[0];
    out[1] = l[1];
    out[2] = l[2];
  }

  std::optional<double> predictive_log_mean(double mean, double variance) const override {
    return mean + 0.5 * variance + log_moment(1);
  }
  std::optional<double> predictive_mean(double /*size*/, double mean, double variance) const override {
    return std::exp(mean + 0.5 * variance + log_moment(1));
  }
  // Var exp(eta) = exp(2 mean + 2 variance) (1 - exp(-variance))
  std::optional<double> predictive_mean_variance(double /*size*/, double mean,
                                                 double variance) const override {
    if (variance == 0.0) return 0.0;
    return std::exp(2.0 * (mean + variance + log_moment(1))) * -std::expm1(-variance);
  }
  std::optional<double> predictive_noise(double /*size*/, double mean, double variance) const override {
    return scaled_variance(mean + variance);
  }
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    if (variance > 0.0 || !(datum.y > 0.0)) return std::nullopt;
    return Tails{conditional_cdf(datum, &mean), std::exp(this->log_density(above(datum), &mean))};
  }

 protected:
  /// log E T^power, power = 1 or 2: infinite where there is none.
  virtual double log_moment(int power) const = 0;

 private:
  static Datum at_most(const Datum& datum) { return {0.0, datum.size, 0.0, datum.y}; }
  static Datum above(const Datum& datum) { return {datum.y, datum.size, 0.0, infinity}; }
  // exp(2 at) Var T = exp(2 at) [E T^2 - (E T)^2]
  double scaled_variance(double at) const {
    const double second = log_moment(2);
    if (second == infinity) return infinity;
    const double square = 2.0 * log_moment(1);
    return std::exp(2.0 * at + square) * std::expm1(second - square);
  }
};

}  // namespace galvi
