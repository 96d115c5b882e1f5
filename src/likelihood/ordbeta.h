// Proportions among which are zeros and ones: an ordered choice between 0, something between, and 1.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/beta.h"
#include "likelihood/cumulative_logit.h"

namespace galvi {

/// With the cuts a < b, P(y = 0) = 1 / (1 + exp(eta - a)), P(y = 1) = 1 / (1 + exp(b - eta)), and otherwise y
/// is beta with mean 1 / (1 + exp(-eta)): Kubinec's ordered beta regression. Beta: of a known or a learned
/// precision.
template <class Inside>
class OrderedBeta : public Likelihood {
 public:
  OrderedBeta(CumulativeLogit cells, Inside inside) : cells_(std::move(cells)), inside_(std::move(inside)) {}

  double log_density(const Datum& datum, const double* eta) const override {
    return cells_.log_density(cell(datum), eta) + (is_inside(datum) ? inside_.log_density(datum, eta) : 0.0);
  }
  // Rows at an end are also asked for their log density between. It is that of 1/2 there, not to be used.
  PreparedRows prepare(Data data) const override { return prepare_rows(cells_, inside_, std::move(data)); }
  static PreparedRows prepare_rows(const Likelihood& cells, const Likelihood& inside, Data data) {
    PreparedRows out{data};
    Data choice = data;
    for (Index n = 0; n < data.y.size(); ++n) {
      choice.y[n] = cell(data[n]).y;
      if (!is_inside(data[n])) data.y[n] = 0.5;
    }
    out.parts.push_back(cells.prepare(std::move(choice)));
    out.parts.push_back(inside.prepare(std::move(data)));
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    sum_parts(cells_, inside_, rows, eta, out);
  }
  static void sum_parts(const Likelihood& cells, const Likelihood& inside, const PreparedRows& rows,
                        const ConstMatrixRef& eta, ArrayRef out) {
    RowArray between(rows.size());
    cells.log_densities(rows.parts[0], eta.leftCols(1), out);
    inside.log_densities(rows.parts[1], eta, between);
    for (Index n = 0; n < rows.size(); ++n)
      if (is_inside(rows.data[n])) out[n] += between[n];
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    cells_.derivatives(cell(datum), eta, out);
    if (!is_inside(datum)) return;
    double own[5];
    inside_.derivatives(datum, eta, own);
    for (int k = 0; k < 5; ++k) out[k] += own[k];
  }
  // The poles of the sigmoids are at +-i pi from the cuts, those of the beta density where it has them.
  Smoothness smoothness() const override { return around(cells_.thresholds().front(), cells_.thresholds().back()); }
  Smoothness smoothness(const Datum& datum) const override {
    return is_inside(datum) ? smoothness() : Smoothness{pi, 0.0, cells_.thresholds()[cell(datum).y > 0.0 ? 1 : 0]};
  }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override {
    return is_inside(datum) ? inside_.starting_eta(datum) : cells_.starting_eta(cell(datum));
  }

  double conditional_mean(const Datum& row, const double* eta) const override {
    return share(2.0, eta) + share(1.0, eta) * inside_.conditional_mean(row, eta);
  }
  // The variance inside, and that of the means of the three cells.
  double conditional_variance(const Datum& row, const double* eta) const override {
    const double p0 = share(0.0, eta), p = share(1.0, eta), p1 = share(2.0, eta);
    const double mu = inside_.conditional_mean(row, eta), mean = conditional_mean(row, eta);
    const double rest = p0 + p * std::exp(log_sigmoid().value(-*eta));
    return p * (inside_.conditional_variance(row, eta) + (mu - mean) * (mu - mean)) + p0 * mean * mean + p1 * rest * rest;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 0.0) return 0.0;
    if (datum.y >= 1.0) return 1.0;
    return share(0.0, eta) + share(1.0, eta) * inside_.conditional_cdf(datum, eta);
  }
  bool discrete() const override { return false; }
  bool mass_at_lowest() const override { return true; }
  bool mass_at_highest() const override { return true; }
  Support support(const Datum& /*row*/) const override { return {0.0, 1.0}; }

  static bool is_inside(const Datum& datum) { return datum.y > 0.0 && datum.y < 1.0; }
  /// 0, 1 between, or 2.
  static Datum cell(const Datum& datum) { return {datum.y <= 0.0 ? 0.0 : datum.y >= 1.0 ? 2.0 : 1.0, 1.0}; }

 protected:
  CumulativeLogit cells_;
  Inside inside_;

 private:
  double share(double cell, const double* eta) const { return std::exp(cells_.log_density({cell, 1.0}, eta)); }
  Smoothness around(double low, double high) const {
    const Smoothness own = inside_.smoothness();
    low = std::min(low, own.centre - own.spread);
    high = std::max(high, own.centre + own.spread);
    return {own.width, 0.0, 0.5 * (low + high), 0.5 * (high - low)};
  }
};

/// Cuts and precision are learned numbers.
class OrdBeta final : public OrderedBeta<Beta> {
 public:
  explicit OrdBeta(const LikelihoodSpec& spec) : OrderedBeta<Beta>(CumulativeLogit(spec, "cuts"), Beta(spec, "phi")) {}
  void update(const ConstVectorRef& hyper) override {
    cells_.update(hyper);
    inside_.update(hyper);
  }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    cells_.add_gradient(cell(datum), eta, weight, gradient);
    if (is_inside(datum)) inside_.add_gradient(datum, eta, weight, gradient);
  }
  bool has_hyper() const override { return true; }
};

/// The log precision has a linear predictor of its own.
class OrdBetaLogPhi final : public PredictedParameter {
 public:
  using Known = OrderedBeta<BetaKnownPrecision>;
  explicit OrdBetaLogPhi(const LikelihoodSpec& spec) : cells_(spec, "cuts") {}
  void update(const ConstVectorRef& hyper) override { cells_.update(hyper); }
  bool has_hyper() const override { return true; }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    cells_.add_gradient(Known::cell(datum), eta, weight, gradient);
  }
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<Known>(cells_, BetaKnownPrecision(last));
  }
  std::optional<Split> split(const Datum& datum) const override {
    const Split::Part choice{&cells_, Known::cell(datum), 0};
    if (!Known::is_inside(datum)) return Split{{choice}};
    return Split{{choice, Split::Part{&inside_, datum, 0}}};
  }
  PreparedRows prepare(Data data) const override { return Known::prepare_rows(cells_, inside_, std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    Known::sum_parts(cells_, inside_, rows, eta, out);
  }
  double last_of(const Datum& datum, double mean, double variance) const override {
    return inside_.last_of(datum, mean, variance);
  }
  // The variance inside is mu (1 - mu) / (1 + exp(eta_2)).
  NoiseForm noise_form() const override { return NoiseForm::share; }
  bool mass_at_lowest() const override { return true; }
  bool mass_at_highest() const override { return true; }
  bool log_concave() const override { return false; }

 private:
  CumulativeLogit cells_;
  BetaLogPrecision inside_;
};

}  // namespace galvi
