// Ordered classes, complementary log-log and log-log links: proportional hazards, forwards and backwards.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "likelihood/ordered.h"

namespace galvi {

/// P(y > c | eta) = exp(-exp(threshold_c - eta)), sign = 1, or P(y <= c | eta) = exp(-exp(eta - threshold_c)),
/// sign = -1, which is the same of the classes in reverse order, of minus eta and minus the thresholds. Of a class
/// between the thresholds a < b, sign = 1,
///   p = exp(-u) - exp(-w) = exp(-u) (1 - exp(-(w - u))),   u = exp(a - eta), w = exp(b - eta):
/// with f = log(1 - exp(-exp(x))) log p = -exp(a - eta) + f(log(exp(b) - exp(a)) - eta), without its first part in the
/// first class, f(b - eta), and without the second in the last.
template <int sign>
class CumulativeGumbel final : public CumulativeResponse<Composed> {
 public:
  explicit CumulativeGumbel(const LikelihoodSpec& spec)
      : CumulativeResponse<Composed>(Thresholds(spec, true), sign > 0 ? smallest_value() : largest_value(), log_cloglog()) {}

  void compose(const Datum& datum, Composition& sum) const override {
    const Cell cell = cell_of(datum);
    if (cell.has_near) sum.add_exponential(0, 1.0, sign, -cell.near);
    if (!cell.has_far) return;
    sum.add(0, 1.0, -sign, cell.has_near ? cell.far + std::log(-std::expm1(cell.near - cell.far)) : cell.far);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    auto at = this->intervals(rows, eta);
    RowArray near = sign > 0 ? at.below : RowArray(-at.above), rise = sign > 0 ? at.above : RowArray(-at.below);
    log_one_minus_exp_each(at.width);
    rise += at.width;
    exp_each(rise);
    log_one_minus_exp_each(rise);
    exp_each(near);
    out = rise - near;
  }
  Smoothness smoothness() const override { return F_.smoothness(); }
  // With s = log(exp(b) - exp(a)):  ds / db = 1 / (1 - exp(a - b)),  ds / da = 1 - ds / db
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    const Cell cell = cell_of(datum);
    if (cell.has_near) thresholds_.add(cell.near_at, -sign * adjoint.shift.front(), gradient);
    if (!cell.has_far) return;
    const double of_far = cell.has_near ? -1.0 / std::expm1(cell.near - cell.far) : 1.0,
                 slope = adjoint.shift.back();
    thresholds_.add(cell.far_at, sign * slope * of_far, gradient);
    if (cell.has_near) thresholds_.add(cell.near_at, sign * slope * (1.0 - of_far), gradient);
  }

 private:
  // The thresholds a and b times the sign, and their numbers.
  struct Cell {
    bool has_near, has_far;
    double near, far;
    Index near_at, far_at;
  };
  Cell cell_of(const Datum& datum) const {
    const Index c = thresholds_.class_of(datum);
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    const double below = thresholds_.below(datum), above = thresholds_.above(datum);
    if (sign > 0) return {!first, !last, below, above, c - 1, c};
    return {!last, !first, -above, -below, c, c - 1};
  }
};

}  // namespace galvi
