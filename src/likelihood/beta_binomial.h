// Overdispersed counts out of `size` trials, logit link, with a precision that may be learned.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "likelihood/composed.h"
#include "likelihood/counts.h"
#include "likelihood/distributional.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// Binomial counts whose probability of success is beta with mean mu = 1 / (1 + exp(-eta)) and this precision:
/// with a = mu precision, b = (1 - mu) precision and R_y(a) = log Gamma(y + a) - log Gamma(a)
/// log p(y | eta) = log choose(size, y) + R_y(a) + R_{size - y}(b) - R_size(precision).
class BetaBinomialResponse : public Likelihood {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    const double log_mu = log_sigmoid().value(*eta), log_nu = log_sigmoid().value(-*eta);
    return log_choose(datum.size, datum.y) + log_rising(datum.y, log_precision_ + log_mu) +
           log_rising(datum.size - datum.y, log_precision_ + log_nu) - log_rising(datum.size, log_precision_);
  }
  // For y > 0, R_y(a) = log a + G(a), G(a) = log Gamma(y + a) - log Gamma(1 + a), which is smooth at a = 0.
  // With s_k the k-th derivative of mu, those of a and b are +-precision s_k.
  // constants: log choose(size, y), size - y
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 2);
    for (Index n = 0; n < out.size(); ++n) out.constants(n, 0) = log_choose(out.data.size[n], out.data.y[n]);
    out.constants.col(1) = out.data.size - out.data.y;
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_precisions(rows, eta, RowArray::Constant(rows.size(), log_precision_), out);
  }
  /// out <- log p for these precisions.
  static void with_precisions(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& log_precision,
                              ArrayRef out) {
    const auto x = eta.col(0).array();
    RowArray l = x;
    log1p_exp_each(l);
    RowArray part(rows.size());
    log_rising_each(rows.data.size.array(), log_precision, part);
    out = rows.constants.col(0).array() - part;
    log_rising_each(rows.data.y.array(), log_precision + x.min(0.0) - l, part);
    out += part;
    log_rising_each(rows.constants.col(1).array(), log_precision - x.max(0.0) - l, part);
    out += part;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    double f[5], at_a[5], at_b[5];
    log_sigmoid().derivatives(eta, f);
    const double nu = f[1], mu = std::exp(f[0]), s1 = -f[2], s2 = -f[3], s3 = -f[4];
    const double s4 = s2 * (1.0 - 12.0 * s1), failures = datum.size - datum.y;
    smooth_part(datum.y, precision_ * mu, at_a);
    smooth_part(failures, precision_ * nu, at_b);
    const double p1 = precision_, p2 = p1 * p1;
    const double slope = p1 * (at_a[1] - at_b[1]), second = p2 * (at_a[2] + at_b[2]);
    const double third = p1 * p2 * (at_a[3] - at_b[3]), fourth = p2 * p2 * (at_a[4] + at_b[4]);
    const double success = datum.y > 0.0 ? 1.0 : 0.0, failure = failures > 0.0 ? 1.0 : 0.0;
    out[0] = log_density(datum, &eta);
    out[1] = success * nu - failure * mu + slope * s1;
    out[2] = -(success + failure) * s1 + slope * s2 + second * s1 * s1;
    out[3] = -(success + failure) * s2 + slope * s3 + third * s1 * s1 * s1 + 3.0 * second * s1 * s2;
    out[4] = -(success + failure) * s3 + slope * s4 + fourth * s1 * s1 * s1 * s1 +
             6.0 * third * s1 * s1 * s2 + second * (3.0 * s2 * s2 + 4.0 * s1 * s3);
  }
  // As for a beta response.
  Smoothness smoothness() const override { return {2.6, 0.0, 0.0, std::log1p(precision_)}; }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override {
    return std::log((datum.y + 0.5) / (datum.size - datum.y + 0.5));
  }

  double conditional_mean(const Datum& row, const double* eta) const override {
    return row.size * std::exp(log_sigmoid().value(*eta));
  }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return row.size * std::exp(log_sigmoid().value(*eta) + log_sigmoid().value(-*eta)) *
           (1.0 + (row.size - 1.0) / (1.0 + precision_));
  }
  // The sum with fewer terms.
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double y = std::floor(datum.y);
    if (y < 0.0) return 0.0;
    const bool left = 2.0 * y < datum.size;
    double sum = 0.0;
    for (double k = left ? 0.0 : y + 1.0; k <= (left ? y : datum.size); k += 1.0)
      sum += std::exp(log_density({k, datum.size}, eta));
    return left ? sum : std::max(1.0 - sum, 0.0);
  }
  const StandardFunction* log_inverse_link() const override { return &log_sigmoid(); }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& row) const override { return {0.0, row.size}; }

 protected:
  void set_precision(double precision, double log_precision) {
    precision_ = precision;
    log_precision_ = log_precision;
  }
  double precision_ = 1.0;

 private:
  // The derivatives of G, from the first on.
  static void smooth_part(double y, double a, double out[5]) {
    double low[5];
    for (int k = 1; k < 5; ++k) out[k] = 0.0;
    if (y < 2.0) return;
    log_gamma_derivatives(y + a, out);
    log_gamma_derivatives(1.0 + a, low);
    for (int k = 1; k < 5; ++k) out[k] -= low[k];
  }
  double log_precision_ = 0.0;
};

class BetaBinomial final : public BetaBinomialResponse {
 public:
  explicit BetaBinomial(const LikelihoodSpec& spec) : parameter_(spec, "precision") {}
  void update(const ConstVectorRef& hyper) override {
    const double precision = parameter_.read(hyper);
    set_precision(precision, std::log(precision));
  }
  // d R_y(mu precision) / d precision = mu (psi(y + a) - psi(a)), and a psi(a) = a psi(1 + a) - 1
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double mu = std::exp(log_sigmoid().value(*eta)), nu = std::exp(log_sigmoid().value(-*eta));
    gradient[parameter_.position()] +=
        weight * (slope(datum.y, mu) + slope(datum.size - datum.y, nu) - slope(datum.size, 1.0));
  }
  bool has_hyper() const override { return true; }

 private:
  double slope(double y, double share) const {
    if (y == 0.0) return 0.0;
    const double a = share * precision_;
    return 1.0 / precision_ + (y == 1.0 ? 0.0 : share * (digamma(y + a) - digamma(1.0 + a)));
  }
  PositiveParameter parameter_;
};

class BetaBinomialKnownPrecision final : public BetaBinomialResponse {
 public:
  explicit BetaBinomialKnownPrecision(double log_precision) {
    const double precision = positive_exp(log_precision);
    set_precision(precision, std::log(precision));
  }
};

/// The same with log precision eta_2.
class BetaBinomialLogPrecision final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<BetaBinomialKnownPrecision>(last);
  }
  std::optional<Shares> shares(const Datum& datum) const override {
    Shares form;
    form.constant = log_choose(datum.size, datum.y);
    form.whole = LogGammaPart::rising(-1.0, datum.size);
    form.first = LogGammaPart::rising(1.0, datum.y);
    form.second = LogGammaPart::rising(1.0, datum.size - datum.y);
    return form;
  }
  PreparedRows prepare(Data data) const override { return BetaBinomialKnownPrecision(0.0).prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    BetaBinomialResponse::with_precisions(rows, eta, eta.col(1).array().max(-700.0).min(700.0), out);
  }
  double last_of(const Datum&, double, double) const override { return 2.0; }
  // The variance is size mu (1 - mu) (1 + (size - 1) / (1 + exp(eta_2))).
  NoiseForm noise_form() const override { return NoiseForm::share; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
