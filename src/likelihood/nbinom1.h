// Overdispersed counts whose variance is a multiple of their mean, log link, with a multiple that may be learned.
#pragma once

#include <cmath>

#include "function/elementwise.h"
#include "function/standard_function.h"
#include "likelihood/counts.h"
#include "likelihood/distributional.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"
#include "likelihood/rising.h"
#include "numeric/special_functions.h"

namespace galvi {

/// Mean mu = exp(eta), variance mu (1 + phi): negative binomial of size a = mu / phi. With the rising factorial
/// R_y(a) = log Gamma(y + a) / Gamma(a)
///   log p(y | eta) = R_y(a) - mu log(1 + phi) / phi + y log(phi / (1 + phi)) - log y!,   y = 0, 1, ..
/// Not log-concave: R_y is a sum of softplus functions of eta.
class NegativeBinomial1Response : public LogLink<Likelihood> {
 public:
  double log_density(const Datum& datum, const double* eta) const override {
    return log_rising(datum.y, *eta - log_phi_) - rate_ * std::exp(*eta) + at_zero(datum.y);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    // finite at every node of quadrature, as its weights underflow
    const double fall = rate_ * positive_exp(eta);
    log_rising_derivatives(datum.y, eta - log_phi_, out);
    for (int k = 1; k < 5; ++k) out[k] -= fall;
    out[0] = log_rising(datum.y, eta - log_phi_) - fall + at_zero(datum.y);
  }
  // constants: log y!
  PreparedRows prepare(Data data) const override {
    PreparedRows out{std::move(data)};
    out.constants = out.data.y.unaryExpr([](double y) { return log_factorial(y); });
    return out;
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_dispersions(rows, eta, RowArray::Constant(rows.size(), log_phi_), out);
  }
  /// out <- log p for these log phi.
  static void with_dispersions(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& log_phi,
                               ArrayRef out) {
    RowArray l = log_phi, mean = eta.col(0).array(), inverse = -log_phi;
    log1p_exp_each(l);  // log(1 + phi) = max(log phi, 0) + l
    exp_each(mean);
    exp_each(inverse);
    log_rising_each(rows.data.y.array(), eta.col(0).array() - log_phi, out);
    out += rows.data.y.array() * (log_phi.min(0.0) - l) - mean * rate_of(log_phi, l, inverse) -
           rows.constants.col(0).array();
  }
  // Of the factors a + j, j > 0, the logarithms are singular at a distance of pi.
  Smoothness smoothness() const override { return {2.6, 1.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    return {datum.y > 1.0 ? 2.6 : infinity, 1.0, log_phi_};
  }
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y + 0.5); }

  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return std::exp(*eta) * (1.0 + phi_);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    const double size = std::exp(*eta - log_phi_);
    if (size == 0.0) return datum.y < 0.0 ? 0.0 : 1.0;
    if (size == infinity) return 0.0;
    return negbinomial_cdf(datum.y, size, 1.0 / (1.0 + phi_), phi_ / (1.0 + phi_));
  }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  std::optional<double> predictive_noise(const Datum& /*row*/, double mean, double variance) const override {
    return std::exp(mean + 0.5 * variance) * (1.0 + phi_);
  }

 protected:
  void set_phi(double phi, double log_phi) {
    phi_ = phi;
    log_phi_ = log_phi;
    rate_ = phi > 0.0 ? std::log1p(phi) / phi : 1.0;
  }
  double phi_ = 1.0, log_phi_ = 0.0, rate_ = 0.69314718055994531;  // rate: log(1 + phi) / phi

 private:
  double at_zero(double y) const { return y > 0.0 ? y * log_sigmoid().value(log_phi_) - log_factorial(y) : 0.0; }
  // log(1 + phi) / phi; where phi is next to nothing its series
  static RowArray rate_of(const RowArray& log_phi, const RowArray& l, const RowArray& inverse) {
    constexpr double negligible = -18.0;
    return (log_phi < negligible).select(1.0 - 0.5 / inverse, (log_phi.max(0.0) + l) * inverse);
  }
};

class NegativeBinomial1 final : public NegativeBinomial1Response {
 public:
  explicit NegativeBinomial1(const LikelihoodSpec& spec) : parameter_(spec, "phi") {}
  void update(const ConstVectorRef& hyper) override {
    const double phi = parameter_.read(hyper);
    set_phi(phi, std::log(phi));
  }
  // (y - a R_y'(a)) / phi - y / (1 + phi) - mu d [log(1 + phi) / phi] / d phi
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    double rising[5];
    log_rising_derivatives(datum.y, *eta - log_phi_, rising);
    const double slope = (datum.y - rising[1]) / phi_ - datum.y / (1.0 + phi_) - std::exp(*eta) * rate_slope();
    gradient[parameter_.position()] += weight * slope;
  }
  bool has_hyper() const override { return true; }

 private:
  double rate_slope() const {
    constexpr double small = 1e-3;  // the terms of the formula cancel; those left out are below 1e-14
    if (phi_ < small) return -0.5 + phi_ * (2.0 / 3 - phi_ * (0.75 - phi_ * (0.8 - phi_ * 5.0 / 6)));
    return (phi_ / (1.0 + phi_) - std::log1p(phi_)) / (phi_ * phi_);
  }
  PositiveParameter parameter_;
};

class NegativeBinomial1KnownPhi final : public NegativeBinomial1Response {
 public:
  explicit NegativeBinomial1KnownPhi(double log_phi) {
    const double phi = positive_exp(log_phi);
    set_phi(phi, std::log(phi));
  }
};

/// The same with log phi = eta_2. The larger eta_2 is negative, the flatter, as the limit is Poisson's distribution.
class NegativeBinomial1LogPhi final : public PredictedParameter {
 public:
  std::unique_ptr<Likelihood> given(double last) const override {
    return std::make_unique<NegativeBinomial1KnownPhi>(last);
  }
  std::optional<MeanOverDispersion> mean_over_dispersion(const Datum& datum) const override {
    return MeanOverDispersion{-log_factorial(datum.y), datum.y, LogGammaPart::rising(1.0, datum.y)};
  }
  PreparedRows prepare(Data data) const override { return NegativeBinomial1KnownPhi(0.0).prepare(std::move(data)); }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    NegativeBinomial1Response::with_dispersions(rows, eta, eta.col(1).array().max(-700.0).min(700.0), out);
  }
  double last_of(const Datum&, double, double) const override { return 0.0; }
  NoiseForm noise_form() const override { return NoiseForm::direct; }
  bool log_concave() const override { return false; }
};

}  // namespace galvi
