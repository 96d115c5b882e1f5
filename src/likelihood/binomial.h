// Counts out of `size` trials with success probability g(eta).
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/counts.h"

namespace galvi {

/// log p(y | eta) = log choose(size, y) + y f(eta) + (size - y) f(-eta), f = log g.   y = 0..size
/// Links differ in f, and in log(1 - g) if g is not symmetric. A binary response has size 1.
class Binomial : public Composed {
 public:
  explicit Binomial(const StandardFunction& log_inverse_link) : Composed(log_inverse_link) {}

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = log_choose(datum.size, datum.y);
    sum.add(0, datum.y, 1.0);
    sum.add(0, datum.size - datum.y, -1.0);
  }
  // constants: log choose(size, y)
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 1);
    for (Index n = 0; n < out.size(); ++n) out.constants(n, 0) = log_choose(out.data.size[n], out.data.y[n]);
    out.binary = (out.data.size.array() == 1.0).all();
    return out;
  }
  bool log_concave() const override { return true; }

  double conditional_mean(const Datum& row, const double* eta) const override {
    return row.size * std::exp(f_.value(*eta));
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return row.size * std::exp(f_.value(*eta) + log_complement(*eta));
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return binomial_cdf(datum.y, datum.size, std::exp(f_.value(*eta)), std::exp(log_complement(*eta)));
  }
  // -d P(Y <= y | eta) / d eta = size p(y | eta, size - 1) g'(eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    derivatives({std::floor(datum.y), datum.size - 1.0}, t, l);
    f_.log_density(t, out);
    out[0] += std::log(datum.size);
    for (int k = 0; k < 3; ++k) out[k] += l[k];
  }
  const StandardFunction* log_inverse_link() const override { return &f_; }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& row) const override { return {0.0, row.size}; }

 protected:
  /// log(1 - g(eta))
  virtual double log_complement(double eta) const { return f_.value(-eta); }
};

}  // namespace galvi
