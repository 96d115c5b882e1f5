// Overdispersed counts, log link, with a size that may be learned.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/counts.h"
#include "likelihood/interval.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// Mean exp(eta), variance exp(eta) + exp(2 eta) / r, r = size: with f = log sigmoid
/// log p(y | eta) = log Gamma(y + r) - log Gamma(r) - log y! + y f(eta - log r) + r f(log r - eta),  y = 0,
/// 1, ..
class NegativeBinomialResponse : public LogLink<Composed> {
 public:
  NegativeBinomialResponse() : LogLink<Composed>(log_sigmoid()) {}

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = log_combinations(datum.y);
    sum.add(0, datum.y, 1.0, -log_size_);
    sum.add(0, size_, -1.0, log_size_);
  }
  // constants: log y!, the place of y among the distinct ones
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    const Vector& y = out.data.y;
    std::vector<double> values(y.data(), y.data() + y.size());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    out.distinct = Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
    out.constants.resize(out.size(), 2);
    for (Index n = 0; n < out.size(); ++n) {
      out.constants(n, 0) = log_factorial(y[n]);
      out.constants(n, 1) =
          static_cast<double>(std::lower_bound(values.begin(), values.end(), y[n]) - values.begin());
    }
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray rising(rows.distinct.size());
    log_rising_each(rows.distinct.array(), RowArray::Constant(rising.size(), log_size_), rising);
    for (Index n = 0; n < rows.size(); ++n)
      out[n] = rising[static_cast<Index>(rows.constants(n, 1))] - rows.constants(n, 0);
    add_mean_part(rows.data.y.array(), eta.col(0).array() - log_size_, size_, out);
  }
  /// out += y f(x) + size f(-x), x = eta - log size
  template <class Size>
  static void add_mean_part(const ConstArrayRef& y, const RowArray& x, const Size& size, ArrayRef out) {
    RowArray l = x;
    log1p_exp_each(l);
    out += y * x.min(0.0) - size * x.max(0.0) - (y + size) * l;
  }
  // The sigmoids are in the middle at log r.
  using LogLink<Composed>::smoothness;
  Smoothness smoothness(const Datum&) const override {
    return {f_.smoothness().width, f_.smoothness().growth, log_size_};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y + 0.5); }
  std::optional<double> mode(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::nullopt;
  }

  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return std::exp(*eta) + std::exp(2.0 * *eta) / size_;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double x = log_size_ - *eta;
    return negbinomial_cdf(datum.y, size_, std::exp(f_.value(x)), std::exp(f_.value(-x)));
  }
  // -d P(Y <= y | eta) / d eta = (y + 1) p(y + 1 | eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    const double next = std::floor(datum.y) + 1.0;
    double l[5];
    derivatives({next, 1.0}, t, l);
    out[0] = std::log(next) + l[0];
    out[1] = l[1];
    out[2] = l[2];
  }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    return interval_of_counts(*this, row, eta, out);
  }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  std::optional<double> predictive_noise(const Datum& /*row*/, double mean, double variance) const override {
    return std::exp(mean + 0.5 * variance) + std::exp(2.0 * (mean + variance)) / size_;
  }

 protected:
  void set_size(double size, double log_size) {
    size_ = size;
    log_size_ = log_size;
    log_gamma_size_ = log_gamma(size);
  }
  double size_ = 1.0, log_size_ = 0.0;

 private:
  // log Gamma(y + r) / (Gamma(r) y!): the larger of y and r is differenced.
  double log_combinations(double y) const {
    if (y == 0.0) return 0.0;
    if (y < size_) return log_gamma_ratio(size_, y) - log_factorial(y);
    return log_gamma_ratio(y + 1.0, size_ - 1.0) - log_gamma_size_;
  }

  double log_gamma_size_ = 0.0;
};

class NegativeBinomial final : public NegativeBinomialResponse {
 public:
  explicit NegativeBinomial(const LikelihoodSpec& spec) : parameter_(spec, "size") {}
  void update(const ConstVectorRef& hyper) override {
    const double size = parameter_.read(hyper);
    set_size(size, std::log(size));
    digamma_size_ = digamma(size);
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    // The part of weight r is the last one; y = 0 has no other.
    const bool both = datum.y > 0.0;
    double slope = adjoint.weight[both ? 1 : 0] + adjoint.shift[both ? 1 : 0] / size_;
    if (both)
      slope += adjoint.constant * (digamma(datum.y + size_) - digamma_size_) - adjoint.shift[0] / size_;
    gradient[parameter_.position()] += slope;
  }
  bool has_hyper() const override { return true; }
  /// By the probabilities up to the ends, each from the one before it, and d log p(y) / d size.
  bool add_interval_gradient(const Datum& row, double eta, double weight, VectorRef gradient) const override {
    constexpr double most = 500.0, smallest = 1e-280, least = 1e-5;
    const double low = std::floor(row.entry), high = row.exit < infinity ? std::floor(row.exit) : -1.0;
    const double log_p = f_.value(log_size_ - eta), p = std::exp(log_p), q = std::exp(f_.value(eta - log_size_));
    double probability = std::exp(size_ * log_p);
    if (std::max(low, high) > most || !(probability > smallest)) return false;
    double slope = log_p + q;  // of log p(0)
    double sum = 0.0, change = 0.0, mass = high < 0.0 ? 1.0 : 0.0, moved = 0.0;
    for (double y = 0.0; y <= std::max(low, high); y += 1.0) {
      if (y > 0.0) {
        probability *= (size_ + y - 1.0) * q / y;
        slope += 1.0 / (size_ + y - 1.0) - p / size_;
      }
      sum += probability;
      change += probability * slope;
      if (y == low) {
        mass -= sum;
        moved -= change;
      }
      if (y == high) {
        mass += sum;
        moved += change;
      }
    }
    if (!(mass > least)) return false;
    gradient[parameter_.position()] += weight * moved / mass;
    return true;
  }

 private:
  PositiveParameter parameter_;
  double digamma_size_ = -euler_gamma;
};

}  // namespace galvi
