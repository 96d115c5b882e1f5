// Times with a hazard that is a power of time, which may be censored and truncated; the exponential too.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/log_scale.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// P(Y > y | eta) = exp(-exp(x)), x = k log(y / unit) + c eta, k = shape, 1 where the likelihood has none. As
/// accelerated failure time c = -k and the unit is 1: exp(eta) is the 1 - 1/e quantile, the exponential's mean. As
/// proportional hazards c = 1: exp(eta) is the cumulative hazard at the unit. With f = log_cloglog()
///   observed at y:   log k - log y + x(y) - w exp(x(y))
///   in (y, upper]:   -w exp(x(y)) + f(log(upper^k - y^k) - k log(unit) + c eta),  -w exp(x(y)) alone for
///                    upper = infinity,
/// where w = 1 - (entry / y)^k is 1 unless the row is truncated. Every term is concave in eta.
class Weibull final : public LogScale<Composed> {
 public:
  explicit Weibull(const LikelihoodSpec& spec)
      : Weibull(spec, spec.hyper.count("shape") ? PositiveParameter(spec, "shape") : PositiveParameter()) {}
  Weibull(const LikelihoodSpec& spec, PositiveParameter shape)
      : LogScale<Composed>(log_cloglog()), parameter_(std::move(shape)) {
    const auto bounded = spec.constants.find("bounded");
    bounded_ = bounded != spec.constants.end() && bounded->second != 0.0;
    const auto unit = spec.constants.find("reference");
    if (unit == spec.constants.end()) return;
    if (!(unit->second > 0.0 && unit->second < infinity))
      throw std::invalid_argument(spec.type + ": `reference` must be a positive time");
    hazards_ = true;
    log_unit_ = std::log(unit->second);
    set(1.0);
  }
  void update(const ConstVectorRef& hyper) override {
    if (parameter_.in_table()) set(parameter_.read(hyper));
    log_moment_ = {log_gamma(1.0 + 1.0 / shape_), log_gamma(1.0 + 2.0 / shape_)};
  }
  void set(double shape) {
    shape_ = shape;
    slope_ = hazards_ ? 1.0 : -shape;
    log_moment_.reset();
  }
  double log_reference() const { return log_unit_; }

  /// Columns of the constants, the last three only if some row is truncated or in an interval. Where a row has no time of
  /// entry, or no interval, its numbers are infinite.
  enum Constant : Index {
    reached,      // log(y / unit), or that of the interval's end where y = 0
    event,        // 1, or 0 where censored
    log_event,    // log y of an event
    since_entry,  // log(y / entry), 0 where y = 0
    to_end,       // how much larger log(upper / unit) is than `reached`
    length        // log(upper / y)
  };
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    bool simple = true;
    out.constants.resize(out.size(), length + 1);
    for (Index n = 0; n < out.size(); ++n) {
      const Datum datum = out.data[n];
      const bool early = !(datum.y > 0.0), within = in_interval(datum);
      simple = simple && !early && !within && !truncated(datum);
      const double ratio = within ? log_ratio(datum) : infinity;
      out.constants.row(n) << log_time(early && within ? datum.upper : datum.y), datum.censored() ? 0.0 : 1.0,
          datum.censored() ? 0.0 : std::log(datum.y),
          early ? 0.0 : -std::log1p((std::max(datum.entry, 0.0) - datum.y) / datum.y),
          early && within ? 0.0 : ratio, ratio;
    }
    if (simple) out.constants.conservativeResize(out.size(), since_entry);
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const auto log_time = rows.constants.col(reached).array();
    RowArray x;
    if (hazards_)
      x = shape_ * log_time + eta.col(0).array();
    else
      x = shape_ * (log_time - eta.col(0).array());
    with_log_hazards(rows, x, shape_, std::log(shape_), out);
  }
  /// out <- log p where x is the log cumulative hazard, at the time of prepare().
  template <class Shape>
  static void with_log_hazards(const PreparedRows& rows, const RowArray& x, const Shape& shape, const Shape& log_shape,
                               ArrayRef out) {
    const auto column = [&rows](Constant j) { return rows.constants.col(j).array(); };
    const bool simple = rows.constants.cols() <= since_entry;
    RowArray hazard = x;
    if (!simple) {
      RowArray since = shape * column(since_entry);
      log_one_minus_exp_each(since);
      hazard += since;
    }
    exp_each(hazard);
    out = column(event) * (x - column(log_event) + log_shape) - hazard;
    if (simple) return;
    RowArray rise = shape * column(length);
    log_one_minus_exp_each(rise);
    rise += x + shape * column(to_end);
    exp_each(rise);
    log_one_minus_exp_each(rise);
    out += rise;
  }

  void compose(const Datum& datum, Composition& sum) const override {
    const double k = shape_;
    if (!datum.censored()) {
      sum.constant = log_density_constant(datum);
      sum.linear = slope_;
    }
    if (datum.y > 0.0) sum.add_exponential(0, survived_weight(datum), -slope_, -k * log_time(datum.y));
    if (in_interval(datum))
      sum.add(0, 1.0, slope_, k * log_time(datum.upper) + std::log(-std::expm1(-k * log_ratio(datum))));
  }
  // d/dk of constant and each part's weight and shift and, where they are -+k, of linear and its coefficient
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    double slope = 0.0;
    std::size_t j = 0;
    if (!datum.censored()) {
      slope += adjoint.constant * (1.0 / shape_ + log_time(datum.y));
      if (!hazards_) slope -= adjoint.linear;
    }
    if (datum.y > 0.0) {
      // where the hazard overflows, by the part that is larger
      if (!hazards_) slope += adjoint.coefficient[j];
      if (std::isfinite(adjoint.shift[j])) slope -= adjoint.shift[j] * log_time(datum.y);
      if (truncated(datum)) {
        const double back = std::log(datum.entry / datum.y);
        slope -= adjoint.weight[j] * back * std::exp(shape_ * back);
      }
      ++j;
    }
    if (in_interval(datum)) {
      const double d = log_ratio(datum);
      const double rise = d < infinity ? d / std::expm1(shape_ * d) : 0.0;
      slope += adjoint.shift[j] * (log_time(datum.upper) + rise);
      if (!hazards_) slope -= adjoint.coefficient[j];
    }
    gradient[parameter_.position()] += slope;
  }
  bool has_hyper() const override { return parameter_.in_table(); }
  // That of a response censored into the interval.
  bool interval(const Datum& row, double eta, double out[5]) const override {
    derivatives(within(row), eta, out);
    return true;
  }
  bool add_interval_gradient(const Datum& row, double eta, double weight, VectorRef gradient) const override {
    add_gradient(within(row), &eta, weight, gradient);
    return true;
  }
  Smoothness smoothness() const override {
    const double size = std::fabs(slope_);
    return {f_.smoothness().width / size, size};
  }
  bool log_concave() const override { return true; }

  // Without left-censored and interval-censored rows.   E exp(x) = exp(k log y + c mean + c^2 variance / 2)
  bool has_closed_form() const override { return !bounded_; }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean,
                                              double variance) const override {
    if (in_interval(datum)) return std::nullopt;
    const double c = slope_, c2 = c * c, x = argument_of(datum, mean);
    const double rate = survived_weight(datum) * std::exp(x + 0.5 * c2 * variance);
    const double event = datum.censored() ? 0.0 : 1.0;
    const double value = datum.censored() ? -rate : std::log(shape_) - std::log(datum.y) + (x - rate);
    return PointExpectation{value,
                            c * (event - rate),
                            -0.5 * c2 * rate,
                            -c2 * rate,
                            -0.5 * c2 * c * rate,
                            -0.25 * c2 * c2 * rate};
  }
  // With the rate r = lambda / c^2 = w y^k exp(..):  f* = event (constant) + r (log r - log(w y^k) - 1) and
  // alpha = event c - lambda / c.
  bool has_fenchel_conjugate() const override { return has_closed_form(); }
  DualLine dual_line(const Datum& datum) const override {
    return DualLine::in_lambda(datum.censored() ? 0.0 : slope_, -1.0 / slope_, infinity);
  }
  PointConjugate fenchel_conjugate(const Datum& datum, double x) const override {
    const double square = slope_ * slope_, rate = x / square;
    const double log_ratio =
        std::log(rate) - shape_ * log_time(datum.y) - std::log(survived_weight(datum));
    const double constant = datum.censored() ? 0.0 : log_density_constant(datum);
    return {constant + rate * (log_ratio - 1.0), log_ratio / square, 1.0 / (square * x)};
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    if (!parameter_.in_table() || in_interval(datum)) return false;
    const double k = shape_, growth = std::exp(argument_of(datum, *mean) + 0.5 * slope_ * slope_ * *variance);
    // d x / d k and what the variance adds to it
    const double d = log_time(datum.y) - (hazards_ ? 0.0 : *mean), spread = hazards_ ? 0.0 : k * *variance;
    double slope = -survived_weight(datum) * growth * (d + spread);
    if (!datum.censored()) slope += 1.0 / k + d;
    if (truncated(datum)) {
      const double back = std::log(datum.entry / datum.y);
      slope += growth * back * std::exp(k * back);
    }
    gradient[parameter_.position()] += weight * slope;
    return true;
  }

 protected:
  double log_moment(int p) const override {
    return log_moment_ ? (*log_moment_)[static_cast<std::size_t>(p - 1)] : log_gamma(1.0 + p / shape_);
  }
  std::optional<double> log_quantile(double probability) const override {
    return std::log(-std::log1p(-probability)) / shape_;
  }
  double power() const override { return hazards_ ? -1.0 / shape_ : 1.0; }
  double log_unit() const override { return log_unit_; }

 private:
  static bool truncated(const Datum& datum) { return datum.entry > 0.0; }
  static bool in_interval(const Datum& datum) { return datum.censored() && datum.upper < infinity; }
  static double log_ratio(const Datum& datum) { return std::log(datum.upper / datum.y); }
  double log_density_constant(const Datum& datum) const {
    const double log_y = std::log(datum.y);
    return std::log(shape_) + shape_ * log_time(datum.y) - log_y;
  }
  double log_time(double y) const { return std::log(y) - log_unit_; }
  // Of an accelerated failure time without the difference of products.
  double argument_of(const Datum& datum, double eta) const {
    const double log_y = log_time(datum.y);
    return hazards_ ? shape_ * log_y + eta : shape_ * (log_y - eta);
  }
  double survived_weight(const Datum& datum) const {
    return truncated(datum) ? -std::expm1(shape_ * std::log(datum.entry / datum.y)) : 1.0;
  }

  PositiveParameter parameter_;
  double shape_ = 1.0, slope_ = -1.0;  // k and c
  std::optional<std::array<double, 2>> log_moment_;  // for many rows; each row's own shape needs few of them
  double log_unit_ = 0.0;
  bool hazards_ = false;  // is it a model of proportional hazards?
  bool bounded_ = false;  // are there left-censored or interval-censored rows?
};

}  // namespace galvi
