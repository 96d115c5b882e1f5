// Proportions, logit link, with a precision that may be learned.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/composed.h"
#include "likelihood/positive_parameter.h"
#include "numeric/special_functions.h"

namespace galvi {

/// 0 < y < 1, mean mu = 1 / (1 + exp(-eta)), variance mu (1 - mu) / (1 + precision): with a = mu precision,
/// b = (1 - mu) precision
/// log p(y | eta) = log Gamma(a + b) - log Gamma(a) - log Gamma(b) + (a - 1) log y + (b - 1) log(1 - y).
class BetaResponse : public Likelihood {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    const double log_mu = log_sigmoid().value(*eta), log_nu = log_sigmoid().value(-*eta);
    const double log_a = log_precision_ + log_mu, log_b = log_precision_ + log_nu;
    const double a = std::exp(log_a), b = std::exp(log_b);
    return assemble(datum.y, log_mu, log_nu, a, b, stirling_error(a, log_a), stirling_error(b, log_b));
  }
  // constants: log y, log(1 - y)
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants.resize(out.size(), 2);
    out.constants.col(0) = out.data.y.array().log();
    out.constants.col(1) = out.data.y.unaryExpr([](double y) { return std::log1p(-y); });
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_precisions(rows, eta, log_precision_, RowArray::Constant(rows.size(), stirling_), out);
  }
  /// out <- log p for these precisions and their Stirling errors.
  template <class Log>
  static void with_precisions(const PreparedRows& rows, const ConstMatrixRef& eta, const Log& log_precision,
                              const RowArray& error, ArrayRef out) {
    const auto x = eta.col(0).array();
    const auto log_y = rows.constants.col(0).array(), log_rest = rows.constants.col(1).array();
    RowArray l = x;
    log1p_exp_each(l);
    const RowArray log_mu = x.min(0.0) - l, log_nu = -x.max(0.0) - l;
    RowArray a = log_mu + log_precision, b = log_nu + log_precision, error_a(rows.size()), error_b(rows.size());
    stirling_error_each(a, error_a);
    stirling_error_each(b, error_b);
    out = 0.5 * (log_mu + b) - log_y - log_rest - log_sqrt_2pi + error - error_a - error_b;
    exp_each(a);
    exp_each(b);
    out += a * (log_y - log_mu) + b * (log_rest - log_nu);
  }
  // log p = log mu + log(1 - mu) + precision mu logit(y) - G(a) - G(b) + constant, G(a) = log Gamma(1 + a),
  // which is smooth at a = 0. With s_k the k-th derivative of mu, those of a and b are +-precision s_k.
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    double f[5], at_a[5], at_b[5];
    log_sigmoid().derivatives(eta, f);
    const double nu = f[1], mu = std::exp(f[0]), s1 = -f[2], s2 = -f[3], s3 = -f[4];
    const double s4 = s2 * (1.0 - 12.0 * s1);
    const double a = precision_ * mu, b = precision_ * nu, log_nu = f[0] - eta;
    log_gamma_derivatives(1.0 + a, at_a);
    log_gamma_derivatives(1.0 + b, at_b);
    const double slope = precision_ * (std::log(datum.y) - std::log1p(-datum.y) - at_a[1] + at_b[1]);
    const double p2 = precision_ * precision_, p3 = precision_ * p2;
    const double second = p2 * (at_a[2] + at_b[2]), third = p3 * (at_a[3] - at_b[3]);
    const double fourth = p2 * p2 * (at_a[4] + at_b[4]);
    out[0] = assemble(datum.y, f[0], log_nu, a, b, stirling_of(a, log_precision_ + f[0], at_a[0]),
                      stirling_of(b, log_precision_ + log_nu, at_b[0]));
    out[1] = nu - mu + slope * s1;
    out[2] = -2.0 * s1 + slope * s2 - second * s1 * s1;
    out[3] = -2.0 * s2 + slope * s3 - third * s1 * s1 * s1 - 3.0 * second * s1 * s2;
    out[4] = -2.0 * s3 + slope * s4 - fourth * s1 * s1 * s1 * s1 - 6.0 * third * s1 * s1 * s2 -
             second * (3.0 * s2 * s2 + 4.0 * s1 * s3);
  }
  // The poles of mu are at +-i pi, those of the gamma functions on the same lines, the more the larger the
  // precision. log p grows so fast towards them that keeping away from them improves the accuracy.
  Smoothness smoothness() const override { return {2.6, 0.0, 0.0, std::log1p(precision_)}; }
  bool log_concave() const override { return false; }
  // log p is concave in mu: its one stationary point has psi(a) - psi(b) = logit(y), rising in eta.
  // Not finite for 0 and 1, which have no density.
  double starting_eta(const Datum& datum) const override {
    const double target = std::log(datum.y) - std::log1p(-datum.y);
    if (std::isinf(target)) return target;
    double low = -700.0, high = 700.0;
    for (int i = 0; i < 40; ++i) {
      const double eta = 0.5 * (low + high);
      const double a = precision_ * std::exp(log_sigmoid().value(eta));
      const double b = precision_ * std::exp(log_sigmoid().value(-eta));
      (digamma(a) - digamma(b) < target ? low : high) = eta;
    }
    return 0.5 * (low + high);
  }

  double conditional_mean(const Datum& /*row*/, const double* eta) const override {
    return std::exp(log_sigmoid().value(*eta));
  }
  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return std::exp(log_sigmoid().value(*eta) + log_sigmoid().value(-*eta)) / (1.0 + precision_);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    if (!(datum.y > 0.0)) return 0.0;
    const double a = precision_ * std::exp(log_sigmoid().value(*eta));
    const double b = precision_ * std::exp(log_sigmoid().value(-*eta));
    if (a == 0.0 || b == 0.0) return a == 0.0 || datum.y >= 1.0 ? 1.0 : 0.0;  // all of it at 0, or at 1
    return incomplete_beta(a, b, datum.y, 1.0 - datum.y);
  }
  const StandardFunction* log_inverse_link() const override { return &log_sigmoid(); }
  bool discrete() const override { return false; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& /*row*/) const override { return {0.0, 1.0}; }

 protected:
  void set_precision(double precision, double log_precision) {
    precision_ = precision;
    log_precision_ = log_precision;
    stirling_ = stirling_error(precision, log_precision);
  }
  double precision_ = 1.0;

 private:
  // log p = a log(y / mu) + b log((1 - y) / (1 - mu)) + log(a b / (2 pi precision)) / 2 - log y - log(1 - y)
  // + the remainders of Stirling's formula for the three gamma functions: nothing cancels, neither for a
  // large precision nor for an extreme mu.
  double assemble(double y, double log_mu, double log_nu, double a, double b, double error_a,
                  double error_b) const {
    const double log_y = std::log(y), log_rest = std::log1p(-y);
    return a * (log_y - log_mu) + b * (log_rest - log_nu) + 0.5 * (log_precision_ + log_mu + log_nu) - log_y -
           log_rest - log_sqrt_2pi + stirling_ - error_a - error_b;
  }
  // The remainder of Stirling's formula for log Gamma(a), from log a and log Gamma(1 + a).
  static double stirling_of(double a, double log_a, double log_gamma_next) {
    return a < 16.0 ? log_gamma_next - (a + 0.5) * log_a + a - log_sqrt_2pi : stirling_error(a);
  }

  double log_precision_ = 0.0, stirling_ = 0.0;
};

class Beta final : public BetaResponse {
 public:
  explicit Beta(const LikelihoodSpec& spec, const char* name = "precision") : parameter_(spec, name) {}
  void update(const ConstVectorRef& hyper) override {
    const double precision = parameter_.read(hyper);
    set_precision(precision, std::log(precision));
    digamma_ = digamma(precision);
  }
  // d log p / d precision, with mu psi(a) = mu psi(1 + a) - 1 / precision
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double mu = std::exp(log_sigmoid().value(*eta)), nu = std::exp(log_sigmoid().value(-*eta));
    gradient[parameter_.position()] +=
        weight * (digamma_ + 2.0 / precision_ + mu * (std::log(datum.y) - digamma(1.0 + precision_ * mu)) +
                  nu * (std::log1p(-datum.y) - digamma(1.0 + precision_ * nu)));
  }
  bool has_hyper() const override { return true; }

 private:
  PositiveParameter parameter_;
  double digamma_ = 0.0;
};

}  // namespace galvi
