// Responses with zeros of their own: a last linear predictor for their probability.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/elementwise.h"
#include "likelihood/binomial_logit.h"
#include "likelihood/distributional.h"
#include "likelihood/zero_truncated.h"
#include "numeric/special_functions.h"

namespace galvi {

/// A base for all latent values but the last, and P = 1 / (1 + exp(-eta_K)), the probability of a zero of another
/// kind.   base: of one latent value, or a PredictedParameter
class WithZeros : public Distributional {
 public:
  explicit WithZeros(std::unique_ptr<Likelihood> base) : base_(std::move(base)) {}
  Index latents() const final { return base_->latents() + 1; }
  void update(const ConstVectorRef& hyper) final { base_->update(hyper); }
  bool has_hyper() const final { return base_->has_hyper(); }
  double last_of(const Datum& datum, double, double) const final { return datum.y == 0.0 ? 0.0 : -1.0; }
  std::shared_ptr<const Likelihood> others_given(double) const final { return base_; }
  bool discrete() const final { return base_->discrete(); }
  Support support(const Datum& row) const final { return {0.0, base_->support(row).high}; }

  double conditional_mean(const Datum& row, const double* eta) const final {
    return rest_share(eta) * rest().conditional_mean(row, eta);
  }
  double conditional_variance(const Datum& row, const double* eta) const final {
    const double share = rest_share(eta), mean = rest().conditional_mean(row, eta);
    return share * (rest().conditional_variance(row, eta) + (1.0 - share) * mean * mean);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const final {
    if (datum.y < 0.0) return 0.0;
    return 1.0 - rest_share(eta) * (1.0 - rest().conditional_cdf(datum, eta));
  }

 protected:
  /// The distribution of all responses but zeros of that kind.
  virtual const Likelihood& rest() const = 0;
  const Likelihood& base() const { return *base_; }
  const std::shared_ptr<Likelihood>& shared_base() const { return base_; }
  /// The base as one whose last parameter is predicted; null where it has one latent value.
  const PredictedParameter* predicted_base() const {
    const Distributional* form = base_->distributional();
    return form ? form->predicted_parameter() : nullptr;
  }
  double log_zero_share(const double* eta) const { return log_sigmoid().value(eta[last()]); }
  double log_rest_share(const double* eta) const { return log_sigmoid().value(-eta[last()]); }
  /// log(1 - P) and log P.
  static void log_shares(const ConstMatrixRef& eta, RowArray& log_rest, RowArray& log_zero) {
    const auto x = eta.col(eta.cols() - 1).array();
    RowArray l = x;
    log1p_exp_each(l);
    log_rest = -x.max(0.0) - l;
    log_zero = x.min(0.0) - l;
  }
  Split::Part no_zero() const { return {&gate(), {0.0, 1.0}, last()}; }
  Split::Part a_zero() const { return {&gate(), {1.0, 1.0}, last()}; }

 private:
  double rest_share(const double* eta) const { return std::exp(log_rest_share(eta)); }
  static const Likelihood& gate() {
    static const BinomialLogit likelihood;
    return likelihood;
  }
  std::shared_ptr<Likelihood> base_;
};

/// Zeros of both kinds: log p(0 | eta) as below, log p(y | eta) = log(1 - P) + log p(y) of the base.
class ZeroInflated final : public WithZeros {
 public:
  using WithZeros::WithZeros;

  double log_density(const Datum& datum, const double* eta) const override {
    const double rest = log_rest_share(eta) + base().log_density(datum, eta);
    if (datum.y > 0.0) return rest;
    const double zero = log_zero_share(eta);
    return std::max(zero, rest) + std::log1p(std::exp(-std::fabs(zero - rest)));
  }
  // constants: 0, and -infinity where y > 0, which is no zero of the other kind
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = out.data.y.unaryExpr([](double y) { return y > 0.0 ? -infinity : 0.0; });
    out.parts.push_back(base().prepare(out.data));
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray rest, zero;
    log_shares(eta, rest, zero);
    zero += rows.constants.col(0).array();
    base().log_densities(rows.parts[0], eta.leftCols(last()), out);
    out += rest;
    RowArray less = zero - out;
    log1p_exp_each(less);
    out = zero.max(out) + less;
  }
  std::optional<Split> split(const Datum& datum) const override {
    if (datum.y == 0.0) return std::nullopt;
    return Split{{Split::Part{&base(), datum, 0}, no_zero()}};
  }
  // With L = -log p(0) of the base, f = log sigmoid,
  //   log p(0 | eta) = log(P + (1 - P) exp(-L)) = f(eta_K) - f(eta_K + L).
  // The mean of the second term over eta_K is a function of L that bends where L = -eta_K, with singularities
  // at -eta_K +- i pi. The width is safe for any base, as the angle of L grows no faster than the imaginary part
  // of eta_1, nor than that of a negative binomial's log size. Where the Gaussian is wide, a closer look saves nodes.
  Nesting nesting(const Datum& zero, const double* mean, const double* variance) const override {
    constexpr double narrow = 0.03;
    const Bend bend(mean[last()], variance[last()]);
    Smoothness smoothness{bend.angle(bend.high), 0.0, 0.0, infinity};
    if (const PredictedParameter* form = predicted_base()) return {form->last(), smoothness};
    if (std::sqrt(variance[0]) > narrow * smoothness.width) smoothness = smoothness_of(zero, bend);
    return {0, smoothness, a_zero(), -1.0};
  }
  std::unique_ptr<Likelihood> inner(const Datum&, double outer) const override {
    return std::make_unique<ZeroInflated>(predicted_base()->given(outer));
  }
  void shift(const Datum& zero, double outer, double out[5]) const override {
    base().derivatives(zero, outer, out);
    for (int k = 0; k < 5; ++k) out[k] = -out[k];
  }
  void add_shift_gradient(const Datum& zero, double outer, double weight, VectorRef gradient) const override {
    base().add_gradient(zero, &outer, -weight, gradient);
  }
  bool compete() const override { return true; }
  std::optional<ZeroMixture> zero_mixture() const override { return ZeroMixture{&base(), false}; }
  bool log_concave() const override { return false; }

 protected:
  const Likelihood& rest() const override { return base(); }

 private:
  /// The values of L between which that mean bends. Below 1 it is nearly a line, and beyond `high` it is 0.
  struct Bend {
    double imaginary, far, low, high;

    Bend(double mean, double variance) {
      constexpr double reach = 5.0, last_digits = 10.0;
      const double sd = std::sqrt(variance);
      imaginary = std::max(pi, 3.0 * sd);
      far = reach * sd - mean;
      low = std::max(1.0, -mean - reach * sd);
      high = std::max(1.0, far) + last_digits;
    }
    /// The angle of the singularities whose real part is L.
    double angle(double L) const {
      constexpr double least = 1e-12, most = 1.4;  // exp(-L) grows from pi / 2 on
      return std::clamp(0.9 * std::atan2(imaginary, std::min(L, far)), least, most);
    }
  };

  // Singularities are located for five values of L across the bend, further from the real line where log L is
  // flatter; the base may have its own. If all lie outside a cone whose tip is below the nearest, as the shifted
  // lines of the sinh rule do, that one is the centre; for a narrower cone a little spread keeps the lines closer
  // to the axis. Else the centre is in the middle of them.
  Smoothness smoothness_of(const Datum& zero, const Bend& bend) const {
    constexpr int points = 5;
    constexpr double cone = 0.45, of_cone = 1.5, steep = 0.95;
    double x[points + 1], width[points + 1];
    const double ratio = std::pow(bend.high / bend.low, 1.0 / (points - 1));
    double L = bend.low, start = -infinity;
    for (int k = 0; k < points; ++k, L *= ratio) {
      double out[5];
      x[k] = eta_where(zero, L, start, out);
      start = x[k] + std::log(ratio);
      width[k] = bend.angle(L) * std::max(1.0, out[0] / out[1]);
    }
    const Smoothness own = base().smoothness(zero);
    const bool bends = std::isfinite(own.width) && own.centre < x[points - 1];
    x[points] = bends ? own.centre : x[0];
    width[points] = bends ? 0.9 * own.width : width[0];
    const int nearest = static_cast<int>(std::min_element(width, width + points + 1) - width);
    const auto outside = [&](double slope) {
      for (int k = 0; k <= points; ++k)
        if (width[k] < width[nearest] + slope * (std::fabs(x[k] - x[nearest]) - width[nearest])) return false;
      return true;
    };
    Smoothness out{width[nearest], 0.0, x[nearest], 0.0};
    if (outside(steep)) return out;
    if (outside(cone)) {
      out.spread = of_cone * out.width;
      return out;
    }
    const auto [low, high] = std::minmax_element(x, x + points + 1);
    out.centre = 0.5 * (*low + *high);
    out.spread = 0.5 * (*high - *low);
    return out;
  }

  // The eta_1 at which L has about that value, with L and its derivatives there, by Newton's method. log L is concave
  // with slopes below 1, so that steps approach from the left and never overshoot.   start: not above that eta_1
  double eta_where(const Datum& zero, double L, double start, double out[5]) const {
    constexpr double near = 0.02;
    double eta = std::max(start, std::log(L / zero.size));
    for (int i = 0; i < 20; ++i) {
      shift(zero, eta, out);
      const double step = out[0] / out[1] * std::log(L / out[0]);
      if (!(step > near)) break;
      eta += step;
    }
    return eta;
  }
};

/// Zeros of that kind alone: log p(0 | eta) = log P, log p(y | eta) = log(1 - P) + log p(y | y > 0) of the base.
class Hurdle final : public WithZeros {
 public:
  explicit Hurdle(std::unique_ptr<Likelihood> base) : WithZeros(std::move(base)) {
    if (!this->base().discrete()) return;  // a continuous base has no zeros
    if (predicted_base()) {
      const auto own = std::static_pointer_cast<const PredictedParameter>(shared_base());
      truncation_ = std::make_unique<ZeroTruncatedGiven<ZeroTruncation>>(own);
      truncated_ = std::make_unique<ZeroTruncatedGiven<ZeroTruncated>>(own);
    } else {
      truncation_ = std::make_unique<ZeroTruncation>(shared_base());
      truncated_ = std::make_unique<ZeroTruncated>(shared_base(), !this->base().has_hyper());
    }
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return datum.y > 0.0 ? log_rest_share(eta) + rest().log_density(datum, eta) : log_zero_share(eta);
  }
  // Rows of positive responses are also asked for their log probability of zero. Zeros are 1 there, not to be used.
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    Data positive = out.data;
    for (double& y : positive.y)
      if (y == 0.0) y = 1.0;
    if (positive.censoring.rows() > 0)
      for (Index n = 0; n < out.size(); ++n)
        if (out.data.y[n] == 0.0) positive.censoring.row(n) << 1.0, 1.0, -infinity;
    out.parts.push_back(base().prepare(positive));
    if (!truncated_) return out;
    positive.y.setZero();
    out.parts.push_back(base().prepare(std::move(positive)));
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    RowArray rest, zero;
    log_shares(eta, rest, zero);
    base().log_densities(rows.parts[0], eta.leftCols(last()), out);
    RowArray none(rows.size());  // log p(0) of the base
    if (truncated_) base().log_densities(rows.parts[1], eta.leftCols(last()), none);
    for (Index n = 0; n < rows.size(); ++n) {
      if (!(rows.data.y[n] > 0.0))
        out[n] = zero[n];
      else
        out[n] += rest[n] - (truncated_ ? log_one_minus_exp(none[n]) : 0.0);
    }
  }
  std::optional<Split> split(const Datum& datum) const override {
    if (datum.y == 0.0) return Split{{a_zero()}};
    return Split{{Split::Part{&base(), datum, 0}, Split::Part{truncation_.get(), datum, 0}, no_zero()}};
  }
  std::optional<ZeroMixture> zero_mixture() const override { return ZeroMixture{&rest(), truncated_ != nullptr}; }
  bool separable() const override { return base().latents() == 1; }
  bool log_concave() const override { return rest().log_concave(); }

 protected:
  const Likelihood& rest() const override { return truncated_ ? *truncated_ : base(); }

 private:
  // log(1 - exp(x)), x < 0; not a number where x is so small that it may have lost digits
  static double log_one_minus_exp(double x) {
    constexpr double least = 1e-6;
    if (!(x < -least)) return std::numeric_limits<double>::quiet_NaN();
    return x > -0.693 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
  }

  // What a truncation at 0 adds to log p of the base, and the truncated base; null where the base has no zeros.
  std::unique_ptr<Likelihood> truncation_, truncated_;
};

}  // namespace galvi
