// Times with a hazard that is a power of time, which may be censored and truncated; the exponential too.
#pragma once

#include <cmath>
#include <optional>

#include "likelihood/composed.h"
#include "likelihood/log_scale.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// P(Y > y | eta) = exp(-exp(x)), x = k (log y - eta), k = shape, 1 where the likelihood has none: exp(eta)
/// is the 1 - 1/e quantile, the exponential's mean. With f = log_cloglog()
///   observed at y:   log k - log y + x(y) - w exp(x(y))
///   in (y, upper]:   -w exp(x(y)) + f(log(upper^k - y^k) - k eta),  -w exp(x(y)) alone for upper = infinity,
/// where w = 1 - (entry / y)^k is 1 unless the row is truncated. Every term is concave in eta.
class Weibull final : public LogScale<Composed> {
 public:
  explicit Weibull(const LikelihoodSpec& spec) : LogScale<Composed>(log_cloglog()) {
    if (spec.hyper.count("shape")) parameter_.emplace(spec, "shape");
    const auto entry = spec.constants.find("bounded");
    bounded_ = entry != spec.constants.end() && entry->second != 0.0;
  }
  void update(const ConstVectorRef& hyper) override {
    if (parameter_) shape_ = parameter_->read(hyper);
  }

  void compose(const Datum& datum, Composition& sum) const override {
    const double k = shape_;
    if (!datum.censored()) {
      sum.constant = log_density_constant(datum);
      sum.linear = -k;
    }
    if (datum.y > 0.0) sum.add_exponential(0, survived_weight(datum), k, -k * std::log(datum.y));
    if (in_interval(datum))
      sum.add(0, 1.0, -k, k * std::log(datum.upper) + std::log(-std::expm1(-k * log_ratio(datum))));
  }
  // d/dk of constant, linear, and of each part's weight, coefficient and shift
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    double slope = 0.0;
    std::size_t j = 0;
    if (!datum.censored()) slope += adjoint.constant * (1.0 / shape_ + std::log(datum.y)) - adjoint.linear;
    if (datum.y > 0.0) {
      // where the hazard overflows, by the part that is larger
      slope += adjoint.coefficient[j];
      if (std::isfinite(adjoint.shift[j])) slope -= adjoint.shift[j] * std::log(datum.y);
      if (truncated(datum)) {
        const double back = std::log(datum.entry / datum.y);
        slope -= adjoint.weight[j] * back * std::exp(shape_ * back);
      }
      ++j;
    }
    if (in_interval(datum)) {
      const double d = log_ratio(datum);
      const double rise = d < infinity ? d / std::expm1(shape_ * d) : 0.0;
      slope += adjoint.shift[j] * (std::log(datum.upper) + rise) - adjoint.coefficient[j];
    }
    gradient[parameter_->position()] += slope;
  }
  bool has_hyper() const override { return parameter_.has_value(); }
  Smoothness smoothness() const override { return {f_.smoothness().width / shape_, shape_}; }
  bool log_concave() const override { return true; }

  // Without left-censored and interval-censored rows.   E exp(x) = exp(k (log y - mean) + k^2 variance / 2)
  bool has_closed_form() const override { return !bounded_; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    if (in_interval(datum)) return std::nullopt;
    const double k = shape_, x = k * (std::log(datum.y) - mean);
    const double rate = survived_weight(datum) * std::exp(x + 0.5 * k * k * variance);
    const double event = datum.censored() ? 0.0 : 1.0;
    const double value = datum.censored() ? -rate : std::log(k) - std::log(datum.y) + (x - rate);
    return PointExpectation{value,
                            k * (rate - event),
                            -0.5 * k * k * rate,
                            -k * k * rate,
                            0.5 * k * k * k * rate,
                            -0.25 * k * k * k * k * rate};
  }
  // With the rate r = lambda / k^2 = w y^k exp(..):  f* = event (constant) + r (log r - log(w y^k) - 1) and
  // alpha = lambda / k - event k.
  bool has_fenchel_conjugate() const override { return has_closed_form(); }
  DualLine dual_line(const Datum& datum) const override {
    return DualLine::in_lambda(datum.censored() ? 0.0 : -shape_, 1.0 / shape_, infinity);
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    const double square = shape_ * shape_, rate = x / square;
    const double log_ratio =
        std::log(rate) - shape_ * std::log(datum.y) - std::log(survived_weight(datum));
    const double constant = datum.censored() ? 0.0 : log_density_constant(datum);
    return {constant + rate * (log_ratio - 1.0), log_ratio / square, 1.0 / (square * x)};
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    if (!parameter_ || in_interval(datum)) return false;
    const double k = shape_, d = std::log(datum.y) - *mean, spread = k * *variance;
    const double growth = std::exp(k * (d + 0.5 * spread));
    double slope = -survived_weight(datum) * growth * (d + spread);
    if (!datum.censored()) slope += 1.0 / k + d;
    if (truncated(datum)) {
      const double back = std::log(datum.entry / datum.y);
      slope += growth * back * std::exp(k * back);
    }
    gradient[parameter_->position()] += weight * slope;
    return true;
  }

 protected:
  double log_moment(int power) const override { return log_gamma(1.0 + power / shape_); }

 private:
  static bool truncated(const Datum& datum) { return datum.entry > 0.0; }
  static bool in_interval(const Datum& datum) { return datum.censored() && datum.upper < infinity; }
  static double log_ratio(const Datum& datum) { return std::log(datum.upper / datum.y); }
  double log_density_constant(const Datum& datum) const {
    const double log_y = std::log(datum.y);
    return std::log(shape_) + shape_ * log_y - log_y;
  }
  double survived_weight(const Datum& datum) const {
    return truncated(datum) ? -std::expm1(shape_ * std::log(datum.entry / datum.y)) : 1.0;
  }

  std::optional<PositiveParameter> parameter_;
  double shape_ = 1.0;
  bool bounded_ = false;  // are there left-censored or interval-censored rows?
};

}  // namespace galvi
