// Counts out of `size` trials with success probability g(eta).
#pragma once

#include <cmath>

#include "function/distribution.h"
#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/counts.h"

namespace galvi {

/// log p(y | eta) = log choose(size, y) + y log F(eta) + (size - y) log(1 - F(eta)).   y = 0..size
/// A binary response has size 1.
class Binomial : public Composed {
 public:
  explicit Binomial(const Distribution& F) : Composed(F.standard()), F_(F) {}

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = log_choose(datum.size, datum.y);
    sum.add(0, F_.lower, datum.y, 1.0);
    sum.add(0, F_.upper, datum.size - datum.y, -1.0);
  }
  // constants: log choose(size, y)
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 1);
    for (Index n = 0; n < out.size(); ++n) out.constants(n, 0) = log_choose(out.data.size[n], out.data.y[n]);
    out.binary = (out.data.size.array() == 1.0).all();
    return out;
  }
  bool log_concave() const override { return F_.log_concave(); }

  double conditional_mean(const Datum& row, const double* eta) const override {
    return row.size * std::exp(F_.lower.value(*eta));
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return row.size * std::exp(F_.lower.value(*eta) + F_.upper.value(-*eta));
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return binomial_cdf(datum.y, datum.size, std::exp(F_.lower.value(*eta)), std::exp(F_.upper.value(-*eta)));
  }
  // -d P(Y <= y | eta) / d eta = size p(y | eta, size - 1) F'(eta)
  std::optional<Crossing> crossing(const Datum&) const override {
    return log_concave() ? std::optional<Crossing>(Crossing{}) : std::nullopt;
  }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    derivatives({std::floor(datum.y), datum.size - 1.0}, t, l);
    F_.lower.log_density(t, out);
    out[0] += std::log(datum.size);
    for (int k = 0; k < 3; ++k) out[k] += l[k];
  }
  // The link of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return link((datum.y + 0.5) / (datum.size + 1.0), (datum.size - datum.y + 0.5) / (datum.size + 1.0));
  }
  const StandardFunction* log_inverse_link() const override { return &F_.lower; }
  const StandardFunction* log_complement_link() const override { return &F_.upper; }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& row) const override { return {0.0, row.size}; }

 protected:
  /// The eta at which F is `success`, 1 - F is `failure`.
  virtual double link(double success, double failure) const = 0;
  const Distribution F_;
};

}  // namespace galvi
