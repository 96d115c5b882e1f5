// A response with normal noise and an exponential delay, as reaction times.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "function/composition.h"
#include "function/elementwise.h"
#include "function/normal.h"
#include "likelihood/identity_link.h"
#include "likelihood/interval.h"
#include "likelihood/positive_parameter.h"

namespace galvi {

/// y = eta - beta + sigma Z + beta E, Z standard normal and E exponential of mean 1, so that eta is the mean.
/// With r = y - eta + beta and u = r / sigma - sigma / beta
///   log p(y | eta) = -log beta + sigma^2 / (2 beta^2) - r / beta + log Phi(u).
class ExGaussian final : public IdentityLink {
 public:
  explicit ExGaussian(const LikelihoodSpec& spec) : ExGaussian(spec, PositiveParameter(spec, "sigma")) {}
  ExGaussian(const LikelihoodSpec& spec, PositiveParameter sigma)
      : sigma_parameter_(std::move(sigma)), beta_parameter_(spec, "beta") {}
  explicit ExGaussian(double beta) : beta_(beta) {}
  void update(const ConstVectorRef& hyper) override {
    if (sigma_parameter_.in_table()) sigma_ = sigma_parameter_.read(hyper);
    beta_ = beta_parameter_.read(hyper);
  }
  /// sigma
  void set(double sigma) { sigma_ = sigma; }
  double beta() const { return beta_; }
  /// Do the parts of compose() lose digits? log Phi(u) then cancels sigma^2 / (2 beta^2).
  bool cancels() const { return !(ratio() < most_ratio); }

  double log_density(const Datum& datum, const double* eta) const override {
    return *predictive_log_density(datum, *eta, 0.0);
  }
  void log_densities(const PreparedRows& rows, const ConstMatrixRef& eta, ArrayRef out) const override {
    with_parameters(rows, eta, RowArray::Constant(rows.size(), sigma_), RowArray::Constant(rows.size(), beta_),
                    std::log(beta_), out);
  }
  /// out <- log p for these sigma, beta and log beta; not a number where that loses digits.
  template <class Log>
  static void with_parameters(const PreparedRows& rows, const ConstMatrixRef& eta, const RowArray& sigma,
                              const RowArray& beta, const Log& log_beta, ArrayRef out) {
    const RowArray r = (rows.data.y - eta.col(0)).array() + beta, ratio = sigma / beta;
    RowArray tail = r / sigma - ratio;
    for (Index n = 0; n < rows.size(); ++n)
      if (!(ratio[n] < most_ratio)) tail[n] = std::numeric_limits<double>::quiet_NaN();
    log_normal_cdf_each(tail);
    out = 0.5 * ratio.square() - r / beta - log_beta + tail;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const Point at(*this, datum.y - eta);
    out[0] = at.log_density(*this);
    out[1] = at.u > 0.0 ? 1.0 / beta_ - at.f[1] / sigma_ : (at.r / sigma_ - at.excess()) / sigma_;
    out[2] = at.f[2] / (sigma_ * sigma_);
    out[3] = -at.f[3] / (sigma_ * sigma_ * sigma_);
    out[4] = at.f[4] / (sigma_ * sigma_ * sigma_ * sigma_);
  }
  // The zeros of Phi nearest to the real line are at +-2.816i around u = 1.9.
  Smoothness smoothness() const override { return {2.816 * sigma_, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override {
    return {2.816 * sigma_, 0.0, datum.y + beta_ - sigma_ * (sigma_ / beta_)};
  }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }

  double conditional_variance(const Datum& /*row*/, const double* /*eta*/) const override {
    return sigma_ * sigma_ + beta_ * beta_;
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return predictive_tails(datum, *eta, 0.0)->lower;
  }
  std::optional<double> predictive_noise(const Datum& row, double mean, double /*variance*/) const override {
    return conditional_variance(row, &mean);
  }
  // The variance of eta adds to that of the normal noise.
  std::optional<double> predictive_log_density(const Datum& datum, double mean, double variance) const override {
    return log_normal_exponential(datum.y - mean + beta_, sd(variance), 1.0 / beta_) - std::log(beta_);
  }
  // P(Y > y) = Phi(-z) + beta p(y), z = r / sigma
  std::optional<Tails> predictive_tails(const Datum& datum, double mean, double variance) const override {
    const double r = datum.y - mean + beta_, z = r / sd(variance);
    const double delayed = std::exp(log_normal_exponential(r, sd(variance), 1.0 / beta_));
    return Tails{std::max(normal_cdf(z) - delayed, 0.0), std::min(normal_cdf(-z) + delayed, 1.0)};
  }
  Truncation truncation() const override { return Truncation::possible; }
  bool interval(const Datum& row, double eta, double out[5]) const override {
    return interval_of_location(*this, row, eta, out);
  }

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = 0.5 * ratio() * ratio() - datum.y / beta_ - 1.0 - std::log(beta_);
    sum.linear = 1.0 / beta_;
    sum.add(0, 1.0, -1.0 / sigma_, (datum.y + beta_) / sigma_ - ratio());
  }
  void add_composition_gradient(const Datum& datum, const CompositionAdjoint& adjoint,
                                VectorRef gradient) const override {
    if (!beta_parameter_.in_table()) return;
    const double square = beta_ * beta_;
    gradient[beta_parameter_.position()] +=
        adjoint.constant * (datum.y / square - (1.0 + ratio() * ratio()) / beta_) - adjoint.linear / square +
        adjoint.shift.front() * (1.0 / sigma_ + ratio() / beta_);
  }

  // Where u < 0 the hazard is -u plus its excess, and what cancels is left out.
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Point at(*this, datum.y - *eta);
    const double rise = at.r / (sigma_ * sigma_) + 1.0 / beta_;   // -du / d sigma
    const double turn = 1.0 / sigma_ + sigma_ / (beta_ * beta_);  // du / d beta
    const double z = at.r / sigma_;
    const bool right = at.u > 0.0;
    if (sigma_parameter_.in_table())
      gradient[sigma_parameter_.position()] +=
          weight * (right ? ratio() / beta_ - at.f[1] * rise : z * z / sigma_ - at.excess() * rise);
    if (!beta_parameter_.in_table()) return;
    const double plain = (at.r - ratio() * sigma_) / (beta_ * beta_) - 2.0 / beta_;
    gradient[beta_parameter_.position()] +=
        weight * (right ? plain + at.f[1] * turn : at.excess() * turn - 1.0 / beta_ - z / sigma_);
  }
  bool has_hyper() const override { return sigma_parameter_.in_table() || beta_parameter_.in_table(); }

 private:
  /// log Phi(u) and its derivatives, at a residual.
  struct Point {
    Point(const ExGaussian& of, double residual) : r(residual + of.beta_), u(r / of.sigma_ - of.sigma_ / of.beta_) {
      log_normal_cdf_derivatives(u, f);
    }
    /// phi(u) / Phi(u) + u
    double excess() const { return -f[2] / f[1]; }
    // Where u < 0 the log of Phi(u) / phi(u) takes the place of log Phi(u), whose size cancels.
    double log_density(const ExGaussian& of) const {
      const double z = r / of.sigma_;
      if (u > 0.0) return 0.5 * of.ratio() * of.ratio() - r / of.beta_ - std::log(of.beta_) + f[0];
      return -0.5 * z * z - log_sqrt_2pi - std::log(of.beta_ * f[1]);
    }
    double r, u, f[5];
  };
  static constexpr double most_ratio = 100.0;
  double ratio() const { return sigma_ / beta_; }
  double sd(double variance) const { return std::hypot(sigma_, std::sqrt(variance)); }

  PositiveParameter sigma_parameter_, beta_parameter_;
  double sigma_ = 1.0, beta_ = 1.0;
};

}  // namespace galvi
