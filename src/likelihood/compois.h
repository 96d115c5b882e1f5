// Counts that are over- or underdispersed, log link, with a dispersion that may be learned.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "likelihood/conway_maxwell.h"
#include "likelihood/counts.h"
#include "likelihood/log_link.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// Conway-Maxwell-Poisson with mean mu = exp(eta): with L = log lambda and Z as functions of eta for this nu
///   log p(y | eta) = y L - nu log y! - log Z,   d log Z / d eta = mu L',   y = 0, 1, ..
/// nu = 1 is Poisson's distribution, nu -> 0 the geometric one; above 1 the variance is below the mean.
class Compois final : public LogLink<Likelihood> {
 public:
  explicit Compois(const LikelihoodSpec& spec)
      : parameter_(spec, "nu"), distribution_(std::make_shared<const ConwayMaxwell>(1.0)) {}
  // The tables are for one nu.
  void update(const ConstVectorRef& hyper) override {
    constexpr double least = 1e-10, most = 1e3;
    const double nu = parameter_.read(hyper);
    if (!(nu >= least && nu <= most)) throw std::domain_error("compois: `nu` must be between 1e-10 and 1000");
    if (nu != distribution_->nu()) distribution_ = std::make_shared<const ConwayMaxwell>(nu);
  }

  double log_density(const Datum& datum, const double* eta) const override {
    return distribution_->log_density(datum.y, *eta);
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double at = std::min(eta, most_eta), mean = std::exp(at), off = datum.y - mean;
    const auto point = distribution_->at(at);
    const double* s = point.slope;
    out[0] = distribution_->log_density(datum.y, at);
    out[1] = off * s[0];
    out[2] = off * s[1] - mean * s[0];
    out[3] = off * s[2] - mean * (s[0] + 2.0 * s[1]);
    out[4] = off * s[3] - mean * (s[0] + 3.0 * (s[1] + s[2]));
  }
  Smoothness smoothness() const override { return {distribution_->width(), 1.0}; }
  // It is for nu <= 1, but not for 2.
  bool log_concave() const override { return false; }
  double starting_eta(const Datum& datum) const override { return std::log(datum.y + 0.5); }
  std::optional<double> mode(const Datum& datum) const override {
    if (datum.y > 0.0) return std::log(datum.y);
    return std::nullopt;
  }

  double conditional_variance(const Datum& /*row*/, const double* eta) const override {
    return std::exp(*eta) / distribution_->at(std::min(*eta, most_eta)).slope[0];
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return distribution_->cdf(datum.y, *eta);
  }
  bool discrete() const override { return true; }
  Truncation truncation() const override { return Truncation::possible; }
  Support support(const Datum& /*row*/) const override { return {0.0, infinity}; }

  // (y - mu) Cov(Y, log Y!) / V - log y! + E log Y!
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const double at = std::min(*eta, most_eta);
    const auto point = distribution_->at(at);
    gradient[parameter_.position()] += weight * ((datum.y - std::exp(at)) * point.factorial_slope -
                                                 log_factorial(datum.y) + point.mean_factorial);
  }
  bool has_hyper() const override { return true; }

 private:
  // Beyond, the mean overflows, at nodes whose weights underflow.
  static constexpr double most_eta = 700.0;
  PositiveParameter parameter_;
  std::shared_ptr<const ConwayMaxwell> distribution_;
};

}  // namespace galvi
