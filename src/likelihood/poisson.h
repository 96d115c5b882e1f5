// Counts, log link.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/counts.h"
#include "likelihood/interval.h"
#include "likelihood/log_link.h"
#include "numeric/special_functions.h"

namespace galvi {

/// log p(y | eta) = y eta - exp(eta) - log y!   y = 0, 1, 2, ...
class Poisson final : public LogLink<Likelihood> {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    return closed_form(datum, *eta, 0.0)->value;
  }
  // As in closed_form(), y > 0: y (1 + d - exp(d)) less a constant, d = eta - log y.
  // constants: log y, the factor of exp(d), the constant; 0, 1 and 0 where y = 0
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 3);
    for (Index n = 0; n < out.size(); ++n) {
      const double y = out.data.y[n], log_y = y > 0.0 ? std::log(y) : 0.0;
      out.constants(n, 0) = log_y;
      out.constants(n, 1) = y > 0.0 ? y : 1.0;
      out.constants(n, 2) = y > 0.0 ? 0.5 * log_y + log_sqrt_2pi + stirling_error(y) : 0.0;
    }
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto y = rows.data.y.array();
    const RowArray d = (eta.col(0) - rows.constants.col(0)).array();
    RowArray rise = d;
    exp_each(rise);
    out = y * (d + 1.0) - rows.constants.col(1).array() * rise - rows.constants.col(2).array();
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double rate = std::exp(eta);
    out[0] = datum.y > 0.0 ? log_density(datum, &eta) : -rate;
    out[1] = datum.y - rate;
    out[2] = out[3] = out[4] = -rate;
  }
  Smoothness smoothness() const override { return {infinity, 1.0}; }
  // E exp(eta) = exp(mean + variance / 2): the log-normal mean. Near the optimum of a large count, y mean,
  // the rate and log y! are huge and cancel; around delta = mean - log y, and with what Stirling's formula
  // leaves of log y!, they do not meet.
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    const double y = datum.y, rate = std::exp(mean + 0.5 * variance);
    double value = -rate, slope = -rate;
    if (y > 0) {
      const double log_y = std::log(y), delta = mean - log_y, rise = std::expm1(delta + 0.5 * variance);
      slope = -y * rise;
      value = y * (delta - rise) - 0.5 * log_y - log_sqrt_2pi - stirling_error(y);
    }
    return PointExpectation{value, slope, -0.5 * rate, -rate, -0.5 * rate, -0.25 * rate};
  }
  bool has_closed_form() const override { return true; }
  // f* = lambda (log lambda - 1) - log y!, alpha = y - lambda   (001, eq. 23)
  bool has_fenchel_conjugate() const override { return true; }
  DualLine dual_line(const Datum& datum) const override {
    return DualLine::in_lambda(datum.y, -1.0, infinity);
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    const double log_x = std::log(x);
    return {x * log_x - x - log_factorial(datum.y), log_x, 1.0 / x};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y + 0.5); }
  std::optional<double> mode(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::nullopt;
  }

  double conditional_variance(const Datum& /*row*/, const double* eta) const override { return std::exp(*eta); }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return poisson_cdf(datum.y, std::exp(*eta));
  }
  // -d P(Y <= y | eta) / d eta = (y + 1) p(y + 1 | eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    const double next = std::floor(datum.y) + 1.0;
    const PointExpectation l = *closed_form({next, 1.0}, t, 0.0);
    out[0] = std::log(next) + l.value;
    out[1] = l.d_m;
    out[2] = l.d_mm;
  }
  bool discrete() const override { return true; }
  bool takes_shares() const override { return true; }
  Truncation truncation() const override { return Truncation::concave; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    return interval_of_counts(*this, row, eta, out);
  }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  std::optional<double> predictive_noise(const Datum& row, double mean, double variance) const override {
    return predictive_mean(row, mean, variance);
  }
};

}  // namespace galvi
