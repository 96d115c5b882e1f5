#include "hyper/prior_density.h"

#include <cmath>
#include <stdexcept>

#include "function/normal.h"
#include "numeric/special_functions.h"

namespace galvi {

namespace {

const double log_two_pi = std::log(2 * M_PI);

// Each is made from its numbers, in the order of the registry, for a variance or its root.
using Numbers = std::vector<double>;

/// log theta ~ N(meanlog, sdlog^2).
class LogNormal final : public PriorDensity {
 public:
  LogNormal(const Numbers& x, bool) : meanlog_(x[0]), sdlog_(x[1]) {}
  double log_density(double theta) const override {
    const double z = (std::log(theta) - meanlog_) / sdlog_;
    return -0.5 * (z * z + log_two_pi) - std::log(sdlog_ * theta);
  }
  double derivative(double theta) const override {
    return -(1 + (std::log(theta) - meanlog_) / (sdlog_ * sdlog_)) / theta;
  }
  double centre() const override { return std::exp(meanlog_); }

 private:
  double meanlog_, sdlog_;
};

/// x ~ N(mean, sd^2), given that x > 0.
class TruncatedNormal final : public PriorDensity {
 public:
  TruncatedNormal(const Numbers& x, bool) : mean_(x[0]), sd_(x[1]) {}
  double log_density(double theta) const override {
    const double z = (theta - mean_) / sd_;
    return -0.5 * z * z - log_sqrt_2pi - std::log(sd_) - log_normal_cdf(mean_ / sd_);
  }
  double derivative(double theta) const override { return (mean_ - theta) / (sd_ * sd_); }
  double centre() const override { return mean_ > 0 ? mean_ : sd_; }

 private:
  double mean_, sd_;
};

/// x = location + scale T, T of Student's t with df degrees of freedom, given that x > 0. With location 0 it is the half-t.
class TruncatedStudent final : public PriorDensity {
 public:
  TruncatedStudent(double df, double location, double scale)
      : df_(df), location_(location), scale_(scale),
        constant_(log_gamma_ratio(0.5 * df, 0.5) - 0.5 * std::log(M_PI * df) - std::log(scale) -
                  std::log(student_cdf(location / scale, df))) {}
  TruncatedStudent(const Numbers& x, bool) : TruncatedStudent(x[0], x[1], x[2]) {}
  double log_density(double theta) const override {
    const double z = (theta - location_) / scale_;
    return constant_ - 0.5 * (df_ + 1) * std::log1p(z / df_ * z);
  }
  double derivative(double theta) const override {
    const double z = (theta - location_) / scale_;
    return -(df_ + 1) * z / (df_ + z * z) / scale_;
  }
  double centre() const override { return location_ > 0 ? location_ : scale_; }

 private:
  double df_, location_, scale_, constant_;
};

class HalfStudent : public PriorDensity {
 public:
  HalfStudent(double df, double scale) : whole_(df, 0, scale) {}
  HalfStudent(const Numbers& x, bool) : HalfStudent(x[0], x[1]) {}
  double log_density(double theta) const override { return whole_.log_density(theta); }
  double derivative(double theta) const override { return whole_.derivative(theta); }
  double centre() const override { return whole_.centre(); }

 private:
  TruncatedStudent whole_;
};

class HalfCauchy final : public HalfStudent {
 public:
  HalfCauchy(const Numbers& x, bool) : HalfStudent(1, x[0]) {}
};

class Exponential final : public PriorDensity {
 public:
  Exponential(const Numbers& x, bool) : rate_(x[0]) {}
  double log_density(double theta) const override { return std::log(rate_) - rate_ * theta; }
  double derivative(double) const override { return -rate_; }
  double centre() const override { return 1 / rate_; }

 private:
  double rate_;
};

/// Of theta itself, not of a precision.
class Gamma final : public PriorDensity {
 public:
  Gamma(const Numbers& x, bool) : shape_(x[0]), rate_(x[1]) {}
  double log_density(double theta) const override {
    return shape_ * std::log(rate_) - std::lgamma(shape_) + (shape_ - 1) * std::log(theta) - rate_ * theta;
  }
  double derivative(double theta) const override { return (shape_ - 1) / theta - rate_; }
  double centre() const override { return shape_ / rate_; }

 private:
  double shape_, rate_;
};

/// 1 / theta is gamma(shape, rate = scale).
class InverseGamma final : public PriorDensity {
 public:
  InverseGamma(const Numbers& x, bool) : shape_(x[0]), scale_(x[1]) {}
  double log_density(double theta) const override {
    return shape_ * std::log(scale_) - std::lgamma(shape_) - (shape_ + 1) * std::log(theta) - scale_ / theta;
  }
  double derivative(double theta) const override { return (scale_ / theta - shape_ - 1) / theta; }
  double centre() const override { return scale_ / (shape_ + 1); }

 private:
  double shape_, scale_;
};

/// theta ~ N(mean, sd^2), of any sign.
class Normal final : public PriorDensity {
 public:
  Normal(const Numbers& x, bool) : mean_(x[0]), sd_(x[1]) {}
  double log_density(double theta) const override {
    const double z = (theta - mean_) / sd_;
    return -0.5 * (z * z + log_two_pi) - std::log(sd_);
  }
  double derivative(double theta) const override { return (mean_ - theta) / (sd_ * sd_); }
  double centre() const override { return mean_; }

 private:
  double mean_, sd_;
};

/// theta = |x|, x ~ N(0, sd^2).
class HalfNormal final : public PriorDensity {
 public:
  HalfNormal(const Numbers& x, bool) : sd_(x[0]) {}
  double log_density(double theta) const override {
    const double z = theta / sd_;
    return std::log(2.0) - 0.5 * (z * z + log_two_pi) - std::log(sd_);
  }
  double derivative(double theta) const override { return -theta / (sd_ * sd_); }
  double centre() const override { return sd_; }

 private:
  double sd_;
};

/// Penalised complexity prior: the standard deviation s is exponential with P(s > upper) = prob.
class PenalisedComplexity final : public PriorDensity {
 public:
  PenalisedComplexity(const Numbers& x, bool is_sd) : rate_(-std::log(x[1]) / x[0]), is_sd_(is_sd) {}
  double log_density(double theta) const override {
    if (is_sd_) return std::log(rate_) - rate_ * theta;
    const double s = std::sqrt(theta);
    return std::log(rate_) - rate_ * s - std::log(2 * s);  // ds / dtheta = 1 / (2 s)
  }
  double derivative(double theta) const override {
    if (is_sd_) return -rate_;
    return -0.5 * (rate_ / std::sqrt(theta) + 1 / theta);
  }
  double centre() const override { return std::pow(rate_, is_sd_ ? -1 : -2); }

 private:
  double rate_;
  bool is_sd_;
};

/// The precision (1 / variance) is gamma(shape, rate).
class GammaPrecision final : public PriorDensity {
 public:
  GammaPrecision(const Numbers& x, bool is_sd) : shape_(x[0]), rate_(x[1]), power_(is_sd ? 2 : 1) {}
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
  double centre() const override { return std::pow(rate_ / shape_, 1 / power_); }

 private:
  double shape_, rate_, power_;
};

/// Penalised complexity prior of the range of a field in the plane: 1 / range is exponential with
/// P(range < lower) = prob (Fuglstad, Simpson, Lindgren and Rue 2019).
class ComplexityOfRange final : public PriorDensity {
 public:
  ComplexityOfRange(const Numbers& x, bool) : rate_(-std::log(x[1]) * x[0]) {}
  double log_density(double theta) const override {
    return std::log(rate_) - 2 * std::log(theta) - rate_ / theta;
  }
  double derivative(double theta) const override { return (rate_ / theta - 2) / theta; }
  double centre() const override { return rate_; }

 private:
  double rate_;
};

/// (1 + theta) / 2 is beta(shape, shape), -1 < theta < 1. For partial correlations in column j of q,
/// independent with shape = eta + (q - 1 - j) / 2, the density of the matrix R is proportional to |R|^(eta -
/// 1) (Lewandowski, Kurowicka and Joe 2009).
class PartialCorrelation final : public PriorDensity {
 public:
  PartialCorrelation(const Numbers& x, bool) : shape_(x[0]) {}
  double log_density(double theta) const override {
    const double log_beta = 2 * std::lgamma(shape_) - std::lgamma(2 * shape_);
    return (shape_ - 1) * (std::log1p(-theta) + std::log1p(theta)) - (2 * shape_ - 1) * std::log(2.0) - log_beta;
  }
  double derivative(double theta) const override {
    return -2 * (shape_ - 1) * theta / ((1 - theta) * (1 + theta));
  }
  double centre() const override { return 0; }

 private:
  double shape_;
};

/// Uniform on the interval of the transform: assumed for shares and correlations without a prior when
/// hyperparameters are integrated over. Users cannot ask for it: for other hyperparameters it would be
/// improper.
class Uniform final : public PriorDensity {
 public:
  explicit Uniform(double width) : width_(width) {}
  double log_density(double) const override { return -std::log(width_); }
  double derivative(double) const override { return 0; }
  double centre() const override { return 0.5 * width_; }

 private:
  double width_;
};

/// theta = s^2, where s has a density of its own: log p(theta) = log p_s(s) - log(2 s), as ds / dtheta = 1 / (2 s).
class OfRoot final : public PriorDensity {
 public:
  explicit OfRoot(std::unique_ptr<PriorDensity> root) : root_(std::move(root)) {}
  double log_density(double theta) const override {
    const double s = std::sqrt(theta);
    return root_->log_density(s) - std::log(2 * s);
  }
  double derivative(double theta) const override {
    const double s = std::sqrt(theta);
    return (root_->derivative(s) - 1 / s) / (2 * s);  // d(-log 2 s) / ds = -1 / s
  }
  double centre() const override { return std::pow(root_->centre(), 2); }

 private:
  std::unique_ptr<PriorDensity> root_;
};

struct Entry {
  PriorDensityFacts facts;
  std::vector<std::string> numbers;
  std::unique_ptr<PriorDensity> (*make)(const Numbers& numbers, bool is_sd);
};

template <class T>
std::unique_ptr<PriorDensity> make(const Numbers& numbers, bool is_sd) {
  return std::make_unique<T>(numbers, is_sd);
}

const std::vector<Entry>& registry() {
  static const std::vector<Entry> table = {
      {{"log_normal", "positive"}, {"meanlog", "sdlog"}, make<LogNormal>},
      {{"half_normal", "positive"}, {"sd"}, make<HalfNormal>},
      {{"half_student_t", "positive"}, {"df", "scale"}, make<HalfStudent>},
      {{"half_cauchy", "positive"}, {"scale"}, make<HalfCauchy>},
      {{"truncated_normal", "positive"}, {"mean", "sd"}, make<TruncatedNormal>},
      {{"truncated_student_t", "positive"}, {"df", "location", "scale"}, make<TruncatedStudent>},
      {{"exponential", "positive"}, {"rate"}, make<Exponential>},
      {{"gamma", "positive"}, {"shape", "rate"}, make<Gamma>},
      {{"inv_gamma", "positive"}, {"shape", "scale"}, make<InverseGamma>},
      {{"pc", "variance"}, {"upper", "prob"}, make<PenalisedComplexity>},
      {{"pc_range", "range"}, {"lower", "prob"}, make<ComplexityOfRange>},
      {{"gamma_prior", "variance"}, {"shape", "rate"}, make<GammaPrecision>},
      {{"lkj", "correlation"}, {"shape"}, make<PartialCorrelation>},
      {{"normal", "any"}, {"mean", "sd"}, make<Normal>},
  };
  return table;
}

}  // namespace

std::unique_ptr<PriorDensity> make_prior_density(const PriorDensitySpec& spec) {
  if (spec.of_root) return std::make_unique<OfRoot>(make_prior_density({spec.type, spec.numbers, true}));
  for (const Entry& entry : registry()) {
    if (entry.facts.type != spec.type) continue;
    std::vector<double> numbers;
    for (const std::string& name : entry.numbers) {
      const auto found = spec.numbers.find(name);
      if (found == spec.numbers.end())
        throw std::invalid_argument("prior \"" + spec.type + "\" lacks the number \"" + name + "\"");
      numbers.push_back(found->second);
    }
    return entry.make(numbers, spec.is_sd);
  }
  if (const auto width = spec.numbers.find("width"); spec.type == "uniform" && width != spec.numbers.end())
    return std::make_unique<Uniform>(width->second);
  throw std::invalid_argument("unknown prior \"" + spec.type + "\"");
}

std::vector<PriorDensityFacts> prior_density_facts() {
  std::vector<PriorDensityFacts> out;
  for (const Entry& entry : registry()) out.push_back(entry.facts);
  return out;
}

}  // namespace galvi
