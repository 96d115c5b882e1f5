// Ordered classes, logit link: proportional odds.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "function/elementwise.h"
#include "likelihood/ordered.h"

namespace galvi {

/// P(y <= c | eta) = 1 / (1 + exp(x - threshold_c)), x = scale eta: with f = log sigmoid a class between the thresholds
/// a < b has log p = log(1 - exp(a - b)) + f(b - x) + f(x - a), the first f(b - x), the last f(x - a).
class CumulativeLogit final : public CumulativeResponse<Composed> {
 public:
  explicit CumulativeLogit(const LikelihoodSpec& spec, const char* name = "thresholds")
      : CumulativeResponse<Composed>(Thresholds(spec, true, name), logistic(), log_sigmoid()) {
    prepare_thresholds();
  }

  void compose(const Datum& datum, Composition& sum) const override {
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    const double scale = thresholds_.scale();
    sum.constant = log_widths_[static_cast<std::size_t>(thresholds_.class_of(datum))];
    if (!last) sum.add(0, 1.0, -scale, thresholds_.above(datum));
    if (!first) sum.add(0, 1.0, scale, -thresholds_.below(datum));
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray below(rows.size()), above(rows.size());  // x - a and b - x
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum{rows.data.y[n], 1.0};
      const double x = thresholds_.scale() * eta(n, 0);
      below[n] = x - thresholds_.below(datum);
      above[n] = thresholds_.above(datum) - x;
      out[n] = log_widths_[static_cast<std::size_t>(thresholds_.class_of(datum))];
    }
    out += below.min(0.0) + above.min(0.0);
    log1p_exp_each(below);
    log1p_exp_each(above);
    out -= below + above;
  }
  bool scaled_log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& scale,
                            ArrayRef out) const override {
    RowArray below(rows.size()), above(rows.size());  // as above
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum{rows.data.y[n], 1.0};
      const double x = thresholds_.scale() * eta(n, 0), a = thresholds_.below(datum), b = thresholds_.above(datum);
      below[n] = scale[n] * (x - a);
      above[n] = scale[n] * (b - x);
      const bool outermost = thresholds_.first(datum) || thresholds_.last(datum);
      out[n] = outermost ? 0.0 : std::log(-std::expm1(scale[n] * (a - b)));
    }
    out += below.min(0.0) + above.min(0.0);
    log1p_exp_each(below);
    log1p_exp_each(above);
    out -= below + above;
    return true;
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    const Index c = thresholds_.class_of(datum);
    // d log(1 - exp(a - b)) / db = 1 / (exp(b - a) - 1) = -d / da
    const double apart =
        first || last ? 0.0
                      : adjoint.constant / std::expm1(thresholds_.above(datum) - thresholds_.below(datum));
    if (!last) thresholds_.add(c, adjoint.shift.front() + apart, gradient);
    if (!first) thresholds_.add(c - 1, -adjoint.shift.back() - apart, gradient);
  }

 protected:
  void prepare_thresholds() override {
    const std::vector<double>& at = thresholds_.values();
    log_widths_.assign(at.size() + 1, 0.0);
    for (std::size_t c = 1; c < at.size(); ++c) log_widths_[c] = std::log(-std::expm1(at[c - 1] - at[c]));
  }

 private:
  std::vector<double> log_widths_;  // of each class log(1 - exp(a - b)), 0 of the first and the last
};

}  // namespace galvi
