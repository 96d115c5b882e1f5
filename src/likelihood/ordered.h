// What likelihoods with ordered classes have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "function/distribution.h"
#include "likelihood/composed.h"
#include "likelihood/thresholds.h"

namespace galvi {

/// Base for a response that is the number y = 0, .., C - 1 of a class and depends on x = scale eta and on thresholds in
/// the same units (likelihood/ordinal_log_disc.h; elsewhere the scale is 1).
template <class Base>
class OrderedResponse : public Base {
 public:
  template <class... Arguments>
  explicit OrderedResponse(Thresholds thresholds, Arguments&&... arguments)
      : Base(arguments...), thresholds_(std::move(thresholds)) {}

  void update(const ConstVectorRef& hyper) override {
    thresholds_.update(hyper);
    prepare_thresholds();
  }
  bool has_hyper() const override { return true; }
  const std::vector<double>& thresholds() const { return thresholds_.values(); }
  void multiply(double scale) {
    thresholds_.multiply(scale);
    prepare_thresholds();
  }
  /// log p of this datum, to rounding, as a sum of one standard function, of which sampled means serve any scale where
  /// quadrature would need nodes as dense as 1 / scale; null if it is not such a sum.
  virtual std::unique_ptr<Likelihood> as_composed(const Datum&) const { return nullptr; }
  /// log_densities() where row n has the scale times scale_n; false if there is nothing quicker than a copy for each row.
  virtual bool scaled_log_densities(const PreparedRows&, const ConstMatrixRef& /*eta*/, const RowArray& /*scale*/,
                                    ArrayRef /*out*/) const {
    return false;
  }

  Index classes() const override { return thresholds_.classes(); }
  bool discrete() const override { return true; }
  Support support(const Datum& /*row*/) const override { return {0.0, static_cast<double>(classes() - 1)}; }
  double starting_eta(const Datum& datum) const override {
    return thresholds_.inside(datum) / thresholds_.scale();
  }
  double conditional_mean(const Datum& /*row*/, const double* eta) const override {
    return moments(*eta).mean;
  }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return moments(*eta).variance;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (datum.y < 0.0) return 0.0;
    const auto c = static_cast<Index>(datum.y);
    return c >= classes() - 1 ? 1.0 : at_most(c, *eta);
  }

 protected:
  /// P(y > c | eta) of every class but the last, exceeds(c) of c = 0, .., C - 2.
  virtual void exceed(double eta, Vector& exceeds) const = 0;
  /// P(y <= c | eta), c < C - 1.
  virtual double at_most(Index c, double eta) const = 0;
  /// After a change of the thresholds.
  virtual void prepare_thresholds() {}

  Thresholds thresholds_;

 private:
  struct Moments {
    double mean = 0.0, variance = 0.0;
  };
  // E y = sum_c P(y > c),  E y^2 = sum_c (2 c + 1) P(y > c)
  Moments moments(double eta) const {
    Vector exceeds(classes() - 1);
    exceed(eta, exceeds);
    Moments out;
    double square = 0.0;
    for (Index c = 0; c < exceeds.size(); ++c) {
      out.mean += exceeds[c];
      square += (2.0 * static_cast<double>(c) + 1.0) * exceeds[c];
    }
    out.variance = std::max(0.0, square - out.mean * out.mean);
    return out;
  }
};

/// P(y <= c | eta) = F(threshold_c - eta), with thresholds in order.
template <class Base>
class CumulativeResponse : public OrderedResponse<Base> {
 public:
  template <class... Arguments>
  CumulativeResponse(Thresholds thresholds, const Distribution& F, Arguments&&... arguments)
      : OrderedResponse<Base>(std::move(thresholds), arguments...), F_(F) {}

  bool log_concave() const override { return F_.log_concave(); }
  // The threshold above y less a variable with distribution function F.
  std::optional<Crossing> crossing(const Datum&) const override {
    return log_concave() ? std::optional<Crossing>(Crossing{}) : std::nullopt;
  }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    const double scale = this->thresholds_.scale();
    F_.lower.log_density(this->thresholds_.above({std::floor(datum.y), 1.0}) - scale * t, out);
    out[0] += std::log(scale);
    out[1] *= -scale;
    out[2] *= scale * scale;
  }

 protected:
  void exceed(double eta, Vector& exceeds) const override {
    const std::vector<double>& at = this->thresholds_.values();
    for (std::size_t c = 0; c < at.size(); ++c)
      exceeds[static_cast<Index>(c)] = std::exp(F_.upper.value(this->thresholds_.scale() * eta - at[c]));
  }
  double at_most(Index c, double eta) const override {
    const double at = this->thresholds_.values()[static_cast<std::size_t>(c)];
    return std::exp(F_.lower.value(at - this->thresholds_.scale() * eta));
  }
  const Distribution F_;
};

}  // namespace galvi
