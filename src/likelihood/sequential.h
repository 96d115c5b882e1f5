// Ordered classes that are reached one after another.
#pragma once

#include <algorithm>
#include <cmath>

#include "likelihood/ordered.h"

namespace galvi {

/// Class c is the last with probability F(threshold_c - x), x = scale eta, if it is reached; the last class has what is
/// left:   log p(y | eta) = log F(threshold_y - x) + sum_{j < y} log(1 - F(threshold_j - x)), without its first part for
/// the last class. The thresholds need no order.
class Sequential final : public OrderedResponse<Composed> {
 public:
  Sequential(const LikelihoodSpec& spec, const Distribution& F)
      : OrderedResponse<Composed>(Thresholds(spec, false), F.standard()), F_(F) {}

  void compose(const Datum& datum, Composition& sum) const override {
    const std::vector<double>& at = thresholds_.values();
    const Index y = thresholds_.class_of(datum);
    const double scale = thresholds_.scale();
    for (Index j = 0; j < y; ++j) sum.add(0, F_.upper, 1.0, scale, -at[static_cast<std::size_t>(j)]);
    if (!thresholds_.last(datum)) sum.add(0, F_.lower, 1.0, -scale, thresholds_.above(datum));
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    const Index y = thresholds_.class_of(datum);
    for (Index j = 0; j < y; ++j) thresholds_.add(j, -adjoint.shift[static_cast<std::size_t>(j)], gradient);
    if (!thresholds_.last(datum)) thresholds_.add(y, adjoint.shift.back(), gradient);
  }
  Smoothness smoothness() const override { return F_.smoothness(); }
  bool log_concave() const override { return F_.log_concave(); }
  // Two steps of Newton's method towards the mode of a class that has one.
  double starting_eta(const Datum& datum) const override {
    double eta = OrderedResponse<Composed>::starting_eta(datum), l[5];
    if (thresholds_.first(datum) || thresholds_.last(datum)) return eta;
    for (int i = 0; i < 2; ++i) {
      derivatives(datum, eta, l);
      if (l[2] < 0.0) eta -= std::clamp(l[1] / l[2], -1.0, 1.0);
    }
    return eta;
  }

 protected:
  void exceed(double eta, Vector& exceeds) const override {
    double log_left = 0.0;
    for (Index c = 0; c < exceeds.size(); ++c) exceeds[c] = std::exp(log_left += log_passed(c, eta));
  }
  double at_most(Index c, double eta) const override {
    double log_left = 0.0;
    for (Index j = 0; j <= c; ++j) log_left += log_passed(j, eta);
    return -std::expm1(log_left);
  }

 private:
  // log(1 - F(threshold_j - x))
  double log_passed(Index j, double eta) const {
    return F_.upper.value(thresholds_.scale() * eta - thresholds_.values()[static_cast<std::size_t>(j)]);
  }
  const Distribution F_;
};

}  // namespace galvi
