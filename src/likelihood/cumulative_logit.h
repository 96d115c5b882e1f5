// Ordered classes, logit link: proportional odds.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/thresholds.h"

namespace galvi {

/// P(y <= c | eta) = 1 / (1 + exp(eta - threshold_c)): with f = log sigmoid a class between the thresholds a
/// < b has log p = log(1 - exp(a - b)) + f(b - eta) + f(eta - a), the first f(b - eta), the last f(eta - a).
class CumulativeLogit final : public Composed {
 public:
  explicit CumulativeLogit(const LikelihoodSpec& spec, const char* name = "thresholds")
      : Composed(log_sigmoid()), thresholds_(spec, name) {
    set_log_widths();
  }
  const std::vector<double>& thresholds() const { return thresholds_.values(); }
  void update(const ConstVectorRef& hyper) override {
    thresholds_.update(hyper);
    set_log_widths();
  }

  void compose(const Datum& datum, Composition& sum) const override {
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    if (!first && !last)
      sum.constant = std::log(-std::expm1(thresholds_.below(datum) - thresholds_.above(datum)));
    if (!last) sum.add(0, 1.0, -1.0, thresholds_.above(datum));
    if (!first) sum.add(0, 1.0, 1.0, -thresholds_.below(datum));
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray below(rows.size()), above(rows.size());  // eta - a and b - eta
    for (Index n = 0; n < rows.size(); ++n) {
      const Datum datum{rows.data.y[n], 1.0};
      const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
      const double a = first ? -infinity : thresholds_.below(datum), b = last ? infinity : thresholds_.above(datum);
      below[n] = eta(n, 0) - a;
      above[n] = b - eta(n, 0);
      out[n] = first || last ? 0.0 : log_widths_[static_cast<std::size_t>(datum.y + 0.5)];
    }
    out += below.min(0.0) + above.min(0.0);
    log1p_exp_each(below);
    log1p_exp_each(above);
    out -= below + above;
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    // d log(1 - exp(a - b)) / db = 1 / (exp(b - a) - 1) = -d / da
    const double apart =
        first || last ? 0.0
                      : adjoint.constant / std::expm1(thresholds_.above(datum) - thresholds_.below(datum));
    if (!last) gradient[thresholds_.above_position(datum)] += adjoint.shift.front() + apart;
    if (!first) gradient[thresholds_.below_position(datum)] -= adjoint.shift.back() + apart;
  }
  bool has_hyper() const override { return true; }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return thresholds_.inside(datum); }

  Index classes() const override { return thresholds_.classes(); }
  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return moments(*eta).mean; }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return moments(*eta).variance;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 0.0) return 0.0;
    const Datum whole{std::floor(datum.y), 1.0};
    return thresholds_.last(whole) ? 1.0 : std::exp(f_.value(thresholds_.above(whole) - *eta));
  }
  // T is logistic around the threshold above y.
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    f_.log_density(t - thresholds_.above({std::floor(datum.y), 1.0}), out);
  }
  bool discrete() const override { return true; }
  Support support(const Datum& /*row*/) const override { return {0.0, static_cast<double>(classes() - 1)}; }

 private:
  ClassMoments moments(double eta) const {
    return class_moments(thresholds_, [&](double threshold) { return std::exp(f_.value(eta - threshold)); });
  }

  void set_log_widths() {
    const std::vector<double>& at = thresholds_.values();
    log_widths_.assign(at.size() + 1, 0.0);
    for (std::size_t c = 1; c < at.size(); ++c) log_widths_[c] = std::log(-std::expm1(at[c - 1] - at[c]));
  }

  Thresholds thresholds_;
  std::vector<double> log_widths_;  // of each class log(1 - exp(a - b)), 0 of the first and the last
};

}  // namespace galvi
