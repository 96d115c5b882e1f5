// Ordered classes by the odds of neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "likelihood/ordered.h"
#include "likelihood/threshold_sum.h"
#include "numeric/special_functions.h"

namespace galvi {

/// log [P(y = c + 1) / P(y = c)] = x - threshold_c, x = scale eta: with T_c the sum of the first c thresholds
///   log p(y | eta) = y x - T_y - log sum_c exp(c x - T_c),
/// an exponential family of the class number, whose cumulants are the derivatives. The thresholds need no order.
class AdjacentCategory final : public OrderedResponse<Likelihood> {
 public:
  explicit AdjacentCategory(const LikelihoodSpec& spec) : OrderedResponse<Likelihood>(Thresholds(spec, false)) {
    prepare_thresholds();
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return shares(*eta).log_of(thresholds_.class_of(datum));
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Shares& all = shares(eta);
    const Vector& p = all.p;
    const Index y = thresholds_.class_of(datum);
    const double scale = thresholds_.scale(), square = scale * scale;
    double below = 0.0, two = 0.0, three = 0.0, four = 0.0;  // y less the mean, and central moments
    for (Index c = 0; c < p.size(); ++c) below += p[c] * static_cast<double>(y - c);
    for (Index c = 0; c < p.size(); ++c) {
      const double off = static_cast<double>(c - y) + below, of_square = p[c] * off * off;
      two += of_square;
      three += of_square * off;
      four += of_square * off * off;
    }
    out[0] = all.log_of(y);
    out[1] = scale * below;
    out[2] = -square * two;
    out[3] = -square * scale * three;
    out[4] = -square * square * (four - 3.0 * two * two);
  }
  // The sum is a polynomial in exp(x) of degree n = C - 1 with positive coefficients: its zeros are at angles of pi / n
  // and more, and between the least and the largest threshold (Enestroem and Kakeya).
  Smoothness smoothness() const override {
    const auto ends = std::minmax_element(thresholds_.values().begin(), thresholds_.values().end());
    const double low = *ends.first, high = *ends.second, scale = thresholds_.scale();
    return {pi / static_cast<double>(thresholds_.values().size()) / scale, 0.0, (low + 0.5 * (high - low)) / scale,
            0.5 * (high - low) / scale};
  }
  bool log_concave() const override { return true; }
  // Threshold j is part of T_c for c > j: its slope is P(y > j), less 1 where the class is beyond it.
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Vector& p = shares(*eta).p;
    const Index y = thresholds_.class_of(datum), last = p.size() - 1;
    for (Index j = 0; j < last; ++j)
      thresholds_.add(j, weight * (y > j ? -p.head(j + 1).sum() : p.tail(last - j).sum()), gradient);
  }
  // Far from all thresholds but one the sum has two terms.
  std::unique_ptr<Likelihood> as_composed(const Datum& datum) const override {
    constexpr double apart = 37.0;
    const std::vector<double>& at = thresholds_.values();
    for (std::size_t j = 1; j < at.size(); ++j)
      if (!(at[j] - at[j - 1] >= apart)) return nullptr;
    return std::make_unique<ThresholdSum>(thresholds_, log_sigmoid(), datum, 0, classes() - 2);
  }

 protected:
  void exceed(double eta, Vector& exceeds) const override {
    double beyond = 0.0;
    const Vector& p = shares(eta).p;
    for (Index c = exceeds.size() - 1; c >= 0; --c) exceeds[c] = beyond += p[c + 1];
  }
  double at_most(Index c, double eta) const override {
    return shares(eta).p.head(c + 1).sum();
  }
  void prepare_thresholds() override {
    sums_.assign(1, 0.0);
    for (const double at : thresholds_.values()) sums_.push_back(sums_.back() + at);
  }

 private:
  /// The probabilities of the classes.
  struct Shares {
    Vector log_weight, p;
    double top, log_total;  // the largest log weight, and the log of the sum of all relative to that one
    double log_of(Index c) const { return (log_weight[c] - top) - log_total; }
  };
  // Valid until the next call.
  const Shares& shares(double eta) const {
    thread_local Shares out;
    const double x = thresholds_.scale() * eta;
    out.log_weight.resize(classes());
    for (Index c = 0; c < out.log_weight.size(); ++c)
      out.log_weight[c] = static_cast<double>(c) * x - sums_[static_cast<std::size_t>(c)];
    Index largest;
    out.top = out.log_weight.maxCoeff(&largest);
    out.p = (out.log_weight.array() - out.top).exp();
    out.p[largest] = 0.0;
    const double others = out.p.sum();
    out.p[largest] = 1.0;
    out.log_total = std::log1p(others);
    out.p /= 1.0 + others;
    return out;
  }

  std::vector<double> sums_;  // T_c
};

}  // namespace galvi
