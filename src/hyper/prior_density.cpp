#include "hyper/prior_density.h"

#include <cmath>
#include <stdexcept>

namespace galvi {

namespace {

const double log_two_pi = std::log(2 * M_PI);

/// log theta ~ N(meanlog, sdlog^2).
class LogNormal final : public PriorDensity {
 public:
  LogNormal(double meanlog, double sdlog) : meanlog_(meanlog), sdlog_(sdlog) {}
  double log_density(double theta) const override {
    const double z = (std::log(theta) - meanlog_) / sdlog_;
    return -0.5 * (z * z + log_two_pi) - std::log(sdlog_ * theta);
  }
  double derivative(double theta) const override {
    return -(1 + (std::log(theta) - meanlog_) / (sdlog_ * sdlog_)) / theta;
  }

 private:
  double meanlog_, sdlog_;
};

/// theta = |x|, x ~ N(0, sd^2).
class HalfNormal final : public PriorDensity {
 public:
  explicit HalfNormal(double sd) : sd_(sd) {}
  double log_density(double theta) const override {
    const double z = theta / sd_;
    return std::log(2.0) - 0.5 * (z * z + log_two_pi) - std::log(sd_);
  }
  double derivative(double theta) const override { return -theta / (sd_ * sd_); }

 private:
  double sd_;
};

/// Penalised complexity prior: the standard deviation s is exponential with P(s > upper) = prob.
class PenalisedComplexity final : public PriorDensity {
 public:
  PenalisedComplexity(double upper, double prob, bool is_sd)
      : rate_(-std::log(prob) / upper), is_sd_(is_sd) {}
  double log_density(double theta) const override {
    if (is_sd_) return std::log(rate_) - rate_ * theta;
    const double s = std::sqrt(theta);
    return std::log(rate_) - rate_ * s - std::log(2 * s);  // ds / dtheta = 1 / (2 s)
  }
  double derivative(double theta) const override {
    if (is_sd_) return -rate_;
    return -0.5 * (rate_ / std::sqrt(theta) + 1 / theta);
  }

 private:
  double rate_;
  bool is_sd_;
};

/// The precision (1 / variance) is gamma(shape, rate).
class GammaPrecision final : public PriorDensity {
 public:
  GammaPrecision(double shape, double rate, bool is_sd) : shape_(shape), rate_(rate), power_(is_sd ? 2 : 1) {}
  double log_density(double theta) const override {
    const double log_tau = -power_ * std::log(theta);
    // |d tau / d theta| = power tau / theta
    return shape_ * std::log(rate_) - std::lgamma(shape_) + shape_ * log_tau - rate_ * std::exp(log_tau) +
           std::log(power_ / theta);
  }
  double derivative(double theta) const override {
    const double tau = std::pow(theta, -power_);
    return (-power_ * (shape_ - rate_ * tau) - 1) / theta;
  }

 private:
  double shape_, rate_, power_;
};

}  // namespace

std::unique_ptr<PriorDensity> make_prior_density(const PriorDensitySpec& spec) {
  const auto number = [&](const char* name) {
    const auto found = spec.numbers.find(name);
    if (found == spec.numbers.end())
      throw std::invalid_argument("prior \"" + spec.type + "\" lacks the number \"" + name + "\"");
    return found->second;
  };
  if (spec.type == "log_normal") return std::make_unique<LogNormal>(number("meanlog"), number("sdlog"));
  if (spec.type == "half_normal") return std::make_unique<HalfNormal>(number("sd"));
  if (spec.type == "pc")
    return std::make_unique<PenalisedComplexity>(number("upper"), number("prob"), spec.is_sd);
  if (spec.type == "gamma_prior")
    return std::make_unique<GammaPrecision>(number("shape"), number("rate"), spec.is_sd);
  throw std::invalid_argument("unknown prior \"" + spec.type + "\"");
}

}  // namespace galvi
