// Priors of coefficients with heavier tails than a normal: log p(beta) as the likelihood of a row whose eta is beta and
// whose response is the prior's location. The bound of the model with such rows and a flat prior of beta is that of the
// model with these priors.
#pragma once

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "likelihood/double_exponential.h"
#include "likelihood/horseshoe.h"
#include "likelihood/identity_link.h"
#include "likelihood/student.h"

namespace galvi {

/// `type`: "student_t", "double_exponential", "logistic" or "horseshoe". base_sd: 0, or the standard deviation of the
/// normal prior, around the same location, that beta has in place of a flat one; the density is then divided by it.
struct CoefficientPriorSpec {
  std::string type;
  double location = 0, scale = 1, df = 1;  // df: of student_t and horseshoe; scale: not of horseshoe
  double base_sd = 0;
  LikelihoodSpec parameters = {};  // of horseshoe: `global` and, unless it has no slab, `slab` in the table

  /// Do both give the same function of eta and the response?
  bool operator==(const CoefficientPriorSpec& other) const {
    return type == other.type && scale == other.scale && df == other.df && base_sd == other.base_sd &&
           parameters.hyper == other.parameters.hyper;
  }
};

class StudentPrior final : public StudentResponse {
 public:
  StudentPrior(double df, double scale) { set(df, scale); }
  void add_gradient(const Datum&, const double*, double, VectorRef) const override {}
};

class DoubleExponentialPrior final : public DoubleExponential {
 public:
  explicit DoubleExponentialPrior(double scale) : DoubleExponential(PositiveParameter(), 1.0, 1.0) { set(scale); }
  void update(const ConstVectorRef&) override {}
  void add_gradient(const Datum&, const double*, double, VectorRef) const override {}
};

/// log p = -|z| - 2 log(1 + exp(-|z|)) - log scale, z = (eta - y) / scale.
class LogisticPrior final : public IdentityLink {
 public:
  explicit LogisticPrior(double scale) : scale_(scale) {}
  double log_density(const Datum& datum, const double* eta) const override {
    const double z = std::fabs(*eta - datum.y) / scale_;
    return -z - 2.0 * std::log1p(std::exp(-z)) - std::log(scale_);
  }
  // with t = tanh(z / 2) and d = dt/dz = (1 - t^2) / 2
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double t = std::tanh(0.5 * (eta - datum.y) / scale_), d = 0.5 * (1.0 - t) * (1.0 + t);
    const double s2 = scale_ * scale_;
    out[0] = log_density(datum, &eta);
    out[1] = -t / scale_;
    out[2] = -d / s2;
    out[3] = t * d / (s2 * scale_);
    out[4] = d * (d - t * t) / (s2 * s2);
  }
  Smoothness smoothness() const override { return {pi * scale_, 0.0}; }
  Smoothness smoothness(const Datum& datum) const override { return {pi * scale_, 0.0, datum.y}; }
  bool log_concave() const override { return true; }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  double conditional_variance(const Datum&, const double*) const override { return pi * pi * scale_ * scale_ / 3.0; }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return 0.5 * (1.0 + std::tanh(0.5 * (datum.y - *eta) / scale_));
  }

 private:
  double scale_;
};

/// log p(y | eta) - log N(eta | y, sd^2).
class OverNormal final : public IdentityLink {
 public:
  OverNormal(std::unique_ptr<Likelihood> prior, double sd)
      : prior_(std::move(prior)), precision_(1 / (sd * sd)), constant_(log_sqrt_2pi + std::log(sd)) {}
  double log_density(const Datum& datum, const double* eta) const override {
    const double x = *eta - datum.y;
    return prior_->log_density(datum, eta) + constant_ + 0.5 * precision_ * x * x;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const double x = eta - datum.y;
    prior_->derivatives(datum, eta, out);
    out[0] += constant_ + 0.5 * precision_ * x * x;
    out[1] += precision_ * x;
    out[2] += precision_;
  }
  std::optional<PointExpectation> closed_form(const Datum& datum, double mean, double variance) const override {
    auto out = prior_->closed_form(datum, mean, variance);
    if (!out) return out;
    const double x = mean - datum.y;
    out->value += constant_ + 0.5 * precision_ * (x * x + variance);
    out->d_m += precision_ * x;
    out->d_v += 0.5 * precision_;
    out->d_mm += precision_;
    return out;
  }
  bool has_closed_form() const override { return prior_->has_closed_form(); }
  Smoothness smoothness() const override { return prior_->smoothness(); }
  Smoothness smoothness(const Datum& datum) const override { return prior_->smoothness(datum); }
  bool log_concave() const override { return false; }
  bool has_hyper() const override { return prior_->has_hyper(); }
  void update(const ConstVectorRef& hyper) override { prior_->update(hyper); }
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    prior_->add_gradient(datum, eta, weight, gradient);
  }
  bool add_expected_gradient(const Datum& datum, const double* mean, const double* variance, double weight,
                             VectorRef gradient) const override {
    return prior_->add_expected_gradient(datum, mean, variance, weight, gradient);
  }
  double starting_eta(const Datum& datum) const override { return datum.y; }
  double conditional_variance(const Datum& row, const double* eta) const override {
    return prior_->conditional_variance(row, eta);
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return prior_->conditional_cdf(datum, eta);
  }

 private:
  std::unique_ptr<Likelihood> prior_;
  double precision_, constant_;
};

/// Throws std::invalid_argument for an unknown type, or numbers that are not positive.
inline std::unique_ptr<Likelihood> make_coefficient_prior(const CoefficientPriorSpec& spec) {
  if (!(spec.scale > 0 && spec.df > 0 && spec.base_sd >= 0) || !std::isfinite(spec.location))
    throw std::invalid_argument("a prior of a coefficient has a scale or df that is not positive");
  std::unique_ptr<Likelihood> out;
  if (spec.type == "student_t") out = std::make_unique<StudentPrior>(spec.df, spec.scale);
  if (spec.type == "double_exponential") out = std::make_unique<DoubleExponentialPrior>(spec.scale);
  if (spec.type == "logistic") out = std::make_unique<LogisticPrior>(spec.scale);
  if (spec.type == "horseshoe") out = std::make_unique<HorseshoePrior>(spec.df, spec.parameters);
  if (!out) throw std::invalid_argument("unknown prior \"" + spec.type + "\" of a coefficient");
  if (spec.base_sd > 0) out = std::make_unique<OverNormal>(std::move(out), spec.base_sd);
  return out;
}

}  // namespace galvi
