// Times with a hazard that may rise and fall, which may be censored and truncated.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/log_scale.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// P(Y > y | eta) = 1 / (1 + exp(x)), x = k (log y - eta), k = shape: exp(eta) is the median. With f = log
/// sigmoid
///   observed at y:   log k - log y + f(x(y)) + f(-x(y))
///   in (y, upper]:   f(-x(y)) + f(x(upper)) + log(1 - (y / upper)^k),  f(-x(y)) alone for upper = infinity
/// and, of a truncated row, -f(-x(entry)), which is convex in eta.
class Loglogistic final : public LogScale<Composed> {
 public:
  explicit Loglogistic(const LikelihoodSpec& spec) : Loglogistic(spec, PositiveParameter(spec, "shape")) {}
  Loglogistic(const LikelihoodSpec& spec, PositiveParameter shape)
      : LogScale<Composed>(log_sigmoid()), parameter_(std::move(shape)) {
    const auto entry = spec.constants.find("truncated");
    truncated_ = entry != spec.constants.end() && entry->second != 0.0;
  }
  void update(const ConstVectorRef& hyper) override { set(parameter_.read(hyper)); }
  void set(double shape) { shape_ = shape; }

  void compose(const Datum& datum, Composition& sum) const override {
    if (!datum.censored()) sum.constant = std::log(shape_) - std::log(datum.y);
    if (in_interval(datum)) sum.constant = std::log(-std::expm1(-shape_ * log_ratio(datum)));
    for_parts(datum, [&](double time, double weight, double sign) {
      sum.add(0, weight, sign * shape_, -sign * shape_ * std::log(time));
    });
  }
  /// Columns of the constants, the last three only if some row is truncated or in an interval. Where a row has no time of
  /// entry, or no interval, its numbers are infinite.
  enum Constant : Index {
    log_time,    // log y, or that of the interval's end where y = 0
    event,       // 1, or 0 where censored
    early,       // 1 where y = 0, else 0
    length,      // log(upper / y)
    since_entry  // log(y / entry)
  };
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    bool simple = true;
    out.constants.resize(out.size(), since_entry + 1);
    for (Index n = 0; n < out.size(); ++n) {
      const Datum datum = out.data[n];
      const bool at_start = !(datum.y > 0.0), within = in_interval(datum), truncated = datum.entry > 0.0;
      simple = simple && !at_start && !within && !truncated;
      out.constants.row(n) << std::log(at_start ? datum.upper : datum.y), datum.censored() ? 0.0 : 1.0,
          at_start ? 1.0 : 0.0,
          within ? log_ratio(datum) : infinity, truncated ? -std::log1p((datum.entry - datum.y) / datum.y) : infinity;
    }
    if (simple) out.constants.conservativeResize(out.size(), early);
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    const RowArray x = shape_ * (eta.col(0) - rows.constants.col(log_time)).array();
    with_arguments(rows, x, shape_, std::log(shape_), out);
  }
  /// out <- log p, x = shape (eta - log y): f(x) + f(-x) + log shape - log y, or f(x) of a censored row, and what
  /// intervals and truncation add.
  template <class Shape>
  static void with_arguments(const PreparedRows& rows, const RowArray& x, const Shape& shape, const Shape& log_shape,
                             ArrayRef out) {
    const auto column = [&rows](Constant j) { return rows.constants.col(j).array(); };
    RowArray l = x;
    log1p_exp_each(l);
    out = x.min(0.0) - l + column(event) * (log_shape - column(log_time) - x.max(0.0) - l);
    if (rows.constants.cols() <= early) return;
    out -= column(early) * x;  // f(-x) = f(x) - x
    RowArray gap = shape * column(length), entry = x + shape * column(since_entry);
    RowArray end = gap - x;
    out += end.min(0.0) - entry.min(0.0);
    log1p_exp_each(end);
    log1p_exp_each(entry);
    log_one_minus_exp_each(gap);
    out += gap - end + entry;
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    double slope = 0.0;
    std::size_t j = 0;
    if (!datum.censored()) slope += adjoint.constant / shape_;
    if (in_interval(datum))
      slope += adjoint.constant * log_ratio(datum) / std::expm1(shape_ * log_ratio(datum));
    for_parts(datum, [&](double time, double, double sign) {
      slope += sign * (adjoint.coefficient[j] - adjoint.shift[j] * std::log(time));
      ++j;
    });
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
  Smoothness smoothness() const override { return {f_.smoothness().width / shape_, 0.0}; }
  bool signed_weights() const override { return truncated_; }
  bool log_concave() const override { return !truncated_; }

 protected:
  // E T^p = B(1 + p / k, 1 - p / k) = (pi p / k) / sin(pi p / k)
  double log_moment(int power) const override {
    if (!(shape_ > power)) return infinity;
    const double angle = pi * power / shape_;
    return std::log(angle / std::sin(angle));
  }
  std::optional<double> log_quantile(double probability) const override {
    return (std::log(probability) - std::log1p(-probability)) / shape_;
  }

 private:
  /// body(time, weight, sign) of every part weight f(-sign x(time)).
  template <class Body>
  static void for_parts(const Datum& datum, Body body) {
    if (datum.upper < infinity) body(datum.upper, 1.0, -1.0);
    if (datum.y > 0.0) body(datum.y, 1.0, 1.0);
    if (datum.entry > 0.0) body(datum.entry, -1.0, 1.0);
  }
  static bool in_interval(const Datum& datum) {
    return datum.censored() && datum.y > 0.0 && datum.upper < infinity;
  }
  static double log_ratio(const Datum& datum) { return std::log(datum.upper / datum.y); }

  PositiveParameter parameter_;
  double shape_ = 1.0;
  bool truncated_ = false;  // are there truncated rows?
};

}  // namespace galvi
