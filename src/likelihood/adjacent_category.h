// Ordered classes by the odds of neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "likelihood/datum_sum.h"
#include "likelihood/ordered.h"
#include "numeric/short_numbers.h"
#include "numeric/special_functions.h"

namespace galvi {

/// The log density of one datum where the classes that are ever most probable take turns far apart: as x rises, steps
/// over m thresholds at a time, whose mean is where both sides are equally probable, with f = log sigmoid
///   log sum_c exp(c x - T_c) = -sum over steps f(S - m x),   S the sum of the step's thresholds.
/// Thresholds in order are steps of their own; those that fall are one step, over classes that are never probable.
class AdjacentSteps final : public DatumSum {
 public:
  AdjacentSteps(const Thresholds& thresholds, const Datum& datum)
      : DatumSum(log_sigmoid()), thresholds_(thresholds), class_(thresholds.class_of(datum)) {
    const std::vector<double>& at = thresholds_.values();
    for (Index j = 0; j < static_cast<Index>(at.size()); ++j) {
      steps_.push_back({j, 1, at[static_cast<std::size_t>(j)]});
      while (steps_.size() > 1 && steps_[steps_.size() - 2].mean() >= steps_.back().mean()) {
        Step& before = steps_[steps_.size() - 2];
        before.count += steps_.back().count;
        before.sum += steps_.back().sum;
        steps_.pop_back();
      }
    }
  }
  /// Are the steps so far apart, and classes that are never probable so improbable, that the sum errs by 1e-11 or less?
  bool exact() const {
    constexpr double apart = 26.0;
    for (std::size_t b = 0; b < steps_.size(); ++b) {
      if (b > 0 && !(steps_[b].mean() - steps_[b - 1].mean() >= apart)) return false;
      double rise = 0.0;  // minus the log weight of a class within the step, where both sides have weight 1
      for (Index j = 0; j < steps_[b].count - 1; ++j) {
        rise += threshold(steps_[b].first + j) - steps_[b].mean();
        if (!(rise >= apart)) return false;
      }
    }
    return true;
  }

  void compose(const Datum&, Composition& sum) const override {
    for (const Step& step : steps_) {
      const double slope = static_cast<double>(step.count) * thresholds_.scale();
      if (class_ >= step.first + step.count)
        sum.add(0, 1.0, slope, -step.sum);
      else
        sum.add(0, 1.0, -slope, step.sum);
      for (Index j = step.first; j < passed_within(step); ++j) {
        sum.linear += thresholds_.scale();
        sum.constant -= threshold(j);
      }
    }
  }
  void add_composition_gradient(const Datum&, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    for (std::size_t b = 0; b < steps_.size(); ++b) {
      const Step& step = steps_[b];
      const bool beyond = class_ >= step.first + step.count;
      for (Index j = step.first; j < step.first + step.count; ++j)
        thresholds_.add(j, beyond ? -adjoint.shift[b] : adjoint.shift[b], gradient);
      for (Index j = step.first; j < passed_within(step); ++j)
        thresholds_.add(j, -adjoint.constant, gradient);
    }
  }
  bool has_hyper() const override { return true; }

 private:
  struct Step {
    Index first, count;
    double sum;
    double mean() const { return sum / static_cast<double>(count); }
  };
  double threshold(Index j) const { return thresholds_.values()[static_cast<std::size_t>(j)]; }
  // The end of the thresholds below a class that the step skips; its first where it does not skip the class.
  Index passed_within(const Step& step) const {
    return class_ > step.first && class_ < step.first + step.count ? class_ : step.first;
  }

  const Thresholds thresholds_;
  Index class_;
  std::vector<Step> steps_;
};

/// log [P(y = c + 1) / P(y = c)] = x - threshold_c, x = scale eta: with T_c the sum of the first c thresholds
///   log p(y | eta) = y x - T_y - log sum_c exp(c x - T_c),
/// an exponential family of the class number, whose cumulants are the derivatives. The thresholds need no order.
class AdjacentCategory final : public OrderedResponse<Likelihood> {
 public:
  explicit AdjacentCategory(const LikelihoodSpec& spec) : OrderedResponse<Likelihood>(Thresholds(spec, false)) {
    prepare_thresholds();
  }

  double log_density(const Datum& datum, const double* eta) const override {
    ShortNumbers shares(static_cast<std::size_t>(classes()));
    Eigen::Map<Vector> p = shares.vector();
    return log_relative(thresholds_.class_of(datum), *eta, p);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Index y = thresholds_.class_of(datum);
    ShortNumbers shares(static_cast<std::size_t>(classes()));
    Eigen::Map<Vector> p = shares.vector();
    out[0] = log_relative(y, eta, p);
    const double scale = thresholds_.scale(), square = scale * scale;
    double below = 0.0, two = 0.0, three = 0.0, four = 0.0;  // y less the mean, and central moments
    for (Index c = 0; c < p.size(); ++c) below += p[c] * static_cast<double>(y - c);
    for (Index c = 0; c < p.size(); ++c) {
      const double off = static_cast<double>(c - y) + below, of_square = p[c] * off * off;
      two += of_square;
      three += of_square * off;
      four += of_square * off * off;
    }
    out[1] = scale * below;
    out[2] = -square * two;
    out[3] = -square * scale * three;
    out[4] = -square * square * (four - 3.0 * two * two);
  }
  // The sum is a polynomial in exp(x) of degree n = C - 1 with positive coefficients: its zeros are at angles of pi / n
  // and more, and between the least and the largest threshold (Enestroem and Kakeya).
  Smoothness smoothness() const override {
    const double scale = thresholds_.scale(), half = 0.5 * (high_ - low_);
    return {pi / static_cast<double>(thresholds_.values().size()) / scale, 0.0, (low_ + half) / scale,
            half / scale};
  }
  bool log_concave() const override { return true; }
  // Threshold j is part of T_c for c > j: its slope is P(y > j), less 1 where the class is beyond it.
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Index y = thresholds_.class_of(datum), last = classes() - 1;
    ShortNumbers shares(static_cast<std::size_t>(classes()));
    Eigen::Map<Vector> p = shares.vector();
    log_relative(y, *eta, p);
    for (Index j = 0; j < last; ++j)
      thresholds_.add(j, weight * (y > j ? -p.head(j + 1).sum() : p.tail(last - j).sum()), gradient);
  }
  // Where thresholds are far apart.
  std::unique_ptr<Likelihood> as_composed(const Datum& datum) const override {
    auto out = std::make_unique<AdjacentSteps>(thresholds_, datum);
    if (!out->exact()) return nullptr;
    return out;
  }

 protected:
  void exceed(double eta, Vector& exceeds) const override {
    double beyond = 0.0;
    ShortNumbers shares(static_cast<std::size_t>(classes()));
    Eigen::Map<Vector> p = shares.vector();
    log_relative(0, eta, p);
    for (Index c = exceeds.size() - 1; c >= 0; --c) exceeds[c] = beyond += p[c + 1];
  }
  double at_most(Index c, double eta) const override {
    ShortNumbers shares(static_cast<std::size_t>(classes()));
    Eigen::Map<Vector> p = shares.vector();
    log_relative(0, eta, p);
    return p.head(c + 1).sum();
  }
  void prepare_thresholds() override {
    const std::vector<double>& at = thresholds_.values();
    const auto ends = std::minmax_element(at.begin(), at.end());
    low_ = *ends.first;
    high_ = *ends.second;
    sums_.assign(1, 0.0);
    odds_.clear();
    for (const double threshold : at) {
      sums_.push_back(sums_.back() + threshold);
      odds_.push_back(std::exp(low_ - threshold));
    }
  }

 private:
  // p <- the probabilities of the classes. Returns log p_y, with its digits where it is small.
  double log_relative(Index y, double eta, Eigen::Map<Vector>& p) const {
    const double x = thresholds_.scale() * eta, furthest = 600.0 / static_cast<double>(p.size());
    double top = 0.0;
    if (std::fabs(x - low_) < furthest && std::fabs(x - high_) < furthest) {
      // relative to class y, from the odds of neighbours: one exponential
      const double odds = std::exp(x - low_);
      p[y] = 1.0;
      for (Index c = y + 1; c < p.size(); ++c)
        p[c] = p[c - 1] * odds * odds_[static_cast<std::size_t>(c - 1)];
      for (Index c = y - 1; c >= 0; --c) p[c] = p[c + 1] / (odds * odds_[static_cast<std::size_t>(c)]);
    } else {
      const double own = static_cast<double>(y) * x - sums_[static_cast<std::size_t>(y)];
      for (Index c = 0; c < p.size(); ++c)
        p[c] = static_cast<double>(c) * x - sums_[static_cast<std::size_t>(c)] - own;
      p[y] = 0.0;
      top = p.maxCoeff();
      p = (p.array() - top).exp();
    }
    double others = 0.0;
    for (Index c = 0; c < p.size(); ++c)
      if (c != y) others += p[c];
    const double log_p = -top - (p[y] > 0.0 && top == 0.0 ? std::log1p(others) : std::log(p[y] + others));
    p /= p[y] + others;
    return log_p;
  }

  double low_ = 0.0, high_ = 0.0;  // of the thresholds
  std::vector<double> sums_;       // T_c
  std::vector<double> odds_;       // exp(low_ - threshold_j)
};

}  // namespace galvi
