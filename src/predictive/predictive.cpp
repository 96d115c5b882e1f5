// What is predicted for a new response: closed forms where the likelihood has them, else integrals over eta.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "likelihood/normal.h"
#include "likelihood/standard_function.h"
#include "numeric/special_functions.h"
#include "predictive/predictive.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/log_integral.h"
#include "quadrature/tilted.h"

namespace galvi {
namespace {

template <class Function>
double gaussian_mean(const Likelihood& likelihood, double mean, double variance, Function function) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness());
  return rule.mean_of(function);
}

double or_nothing(double log_value) { return std::isnan(log_value) ? -infinity : log_value; }

constexpr double small_share = 0.01;
constexpr double needle = 1e-6;  // a threshold this narrow, beside 1 and eta's sd, is as good as normal

/// The density of the threshold T.
class CrossingDensity final : public LogIntegrand {
 public:
  CrossingDensity(const Likelihood& likelihood, const Datum& datum)
      : likelihood_(likelihood), datum_(datum) {}
  double value(double t) const override {
    double density[3];
    likelihood_.crossing_density(datum_, t, density);
    return or_nothing(density[0]);
  }
  double slope(double t, double& curvature) const override {
    double density[3];
    likelihood_.crossing_density(datum_, t, density);
    curvature = -density[2];
    return density[1];
  }

 private:
  const Likelihood& likelihood_;
  const Datum& datum_;
};

/// The same times P(eta < T), side = 1, or P(eta > T), side = -1.
class CrossingTail final : public LogIntegrand {
 public:
  CrossingTail(const Likelihood& likelihood, const Datum& datum, double mean, double sd, double side)
      : likelihood_(likelihood), datum_(datum), mean_(mean), sd_(sd), side_(side) {}
  double value(double t) const override {
    double density[3];
    likelihood_.crossing_density(datum_, t, density);
    return or_nothing(density[0] + log_normal_cdf(argument(t)));
  }
  double slope(double t, double& curvature) const override {
    double density[3], f[5];
    likelihood_.crossing_density(datum_, t, density);
    log_normal_cdf_derivatives(argument(t), f);
    curvature = -density[2] - f[2] / (sd_ * sd_);
    return density[1] + side_ * f[1] / sd_;
  }
  double rounding(double t) const override {
    return 2e-16 * (std::fabs(datum_.y) + datum_.size) * (1.0 + std::fabs(t));
  }

 private:
  double argument(double t) const { return side_ * (t - mean_) / sd_; }
  const Likelihood& likelihood_;
  const Datum& datum_;
  double mean_, sd_, side_;
};

double crossing_probability(const Likelihood& likelihood, const Datum& datum, double mean, double sd,
                            double side) {
  thread_local LogIntegral integral;
  integral.concave(CrossingTail(likelihood, datum, mean, sd, side), mean, sd, mean);
  return std::exp(integral.log_mass());
}

// Of two probabilities that add up to one the one that is smaller, or not much larger, is integrated: it
// keeps its digits.
Tails crossing_tails(const Likelihood& likelihood, const Datum& datum, const Crossing& crossing, double mean,
                     double variance) {
  const double sd = std::sqrt(variance);
  const Peak threshold = concave_peak(CrossingDensity(likelihood, datum), mean, 1.0);
  const double z = (threshold.at - mean) / std::hypot(sd, threshold.scale);
  double below = normal_cdf(z), above = normal_cdf(-z);
  if (!(threshold.scale < needle * std::min(1.0, sd))) {
    const bool left = z < 0.0;
    (left ? below : above) = crossing_probability(likelihood, datum, mean, sd, left ? 1.0 : -1.0);
    (left ? above : below) = 1.0 - (left ? below : above);
  }
  return {crossing.left * below + crossing.right * above,
          (1.0 - crossing.left) * below + (1.0 - crossing.right) * above};
}

/// P(Y <= y) given u = log tau times the density of u, for y at the distance r < 0 from eta's mean:
///   shape (u - exp(u)) + constant + log Phi(z),   z = r / sqrt(V), V = variance + squared_scale / exp(u).
class MixtureTail final : public LogIntegrand {
 public:
  MixtureTail(const NormalMixture& mixture, double r, double variance)
      : shape_(mixture.shape),
        log_squared_(std::log(mixture.squared_scale)),
        log_r_(std::log(-r)),
        log_variance_(std::log(variance)) {
    // shape log shape - shape - log Gamma(shape)
    constant_ = 0.5 * std::log(shape_) - log_sqrt_2pi - stirling_error(shape_);
  }
  double value(double u) const override {
    return or_nothing(constant_ + shape_ * (u - std::expm1(u)) + log_normal_cdf(-std::exp(log_ratio(u))));
  }
  // z' = z share / 2 and share' = -share (1 - share), share that of the noise in V
  double slope(double u, double& curvature) const override {
    const double z = -std::exp(log_ratio(u)),
                 share = 1.0 / (1.0 + std::exp(log_variance_ - log_squared_ + u));
    double f[5];
    log_normal_cdf_derivatives(z, f);
    const double dz = 0.5 * z * share;
    curvature = shape_ * std::exp(u) - f[2] * dz * dz - f[1] * dz * (1.5 * share - 1.0);
    return -shape_ * std::expm1(u) + f[1] * dz;
  }
  /// Where the noise is as wide as all else.
  double turn() const { return std::min(0.0, log_squared_ - std::max(2.0 * log_r_, log_variance_)); }

 private:
  // log -z, where V may be beyond all numbers
  double log_ratio(double u) const {
    const double noise = log_squared_ - u, top = std::max(noise, log_variance_);
    return log_r_ - 0.5 * (top + std::log1p(std::exp(-std::fabs(noise - log_variance_))));
  }
  double shape_, log_squared_, log_r_, log_variance_, constant_;
};

Tails mixture_tails(const Likelihood& likelihood, const NormalMixture& mixture, const Datum& datum,
                    double mean, double variance) {
  const double r = -std::fabs(datum.y - mean);
  double far;
  if (variance == 0.0) {
    far = likelihood.conditional_cdf({mean + r, datum.size}, &mean);
  } else {
    const MixtureTail h(mixture, r, variance);
    thread_local LogIntegral integral;
    integral.two_peaks(h, 0.0, h.turn(), 1.0 / std::sqrt(mixture.shape));
    far = std::exp(integral.log_mass());
  }
  return datum.y < mean ? Tails{far, 1.0 - far} : Tails{1.0 - far, far};
}

/// P(Y <= y | eta) times the density of eta, of which no more is known than that the first is monotone in
/// eta.
class MonotoneShare final : public LogIntegrand {
 public:
  MonotoneShare(const Likelihood& likelihood, const Datum& datum, double mean, double sd)
      : likelihood_(likelihood), datum_(datum), mean_(mean), sd_(sd) {}
  double probability(double eta) const { return likelihood_.conditional_cdf(datum_, &eta); }
  double value(double eta) const override {
    const double t = (eta - mean_) / sd_;
    return std::log(probability(eta)) - 0.5 * t * t - log_sqrt_2pi - std::log(sd_);
  }
  double slope(double, double& curvature) const override { return curvature = 0.0; }
  /// Where the probability falls, or rises, through 1/2: halves what is between low and high until it does so
  /// over the whole length.
  void find_step(double& low, double& high) const {
    const bool falls = probability(low) > probability(high);
    for (int i = 0; i < 100 && std::fabs(probability(low) - probability(high)) > 0.5; ++i) {
      const double middle = low + 0.5 * (high - low);
      if (!(middle > low && middle < high)) break;
      ((probability(middle) > 0.5) == falls ? low : high) = middle;
    }
  }

 private:
  const Likelihood& likelihood_;
  const Datum& datum_;
  double mean_, sd_;
};

// The first panels are a few sds of eta long, and shorter towards where the probability falls.
double monotone_mean(const Likelihood& likelihood, const Datum& datum, double mean, double sd) {
  constexpr double ends[] = {-12.0, -5.0, -2.0, 0.0, 2.0, 5.0, 12.0}, growth = 8.0;
  const MonotoneShare h(likelihood, datum, mean, sd);
  std::vector<double> breaks;
  for (const double t : ends) breaks.push_back(mean + t * sd);
  double low = breaks.front(), high = breaks.back();
  h.find_step(low, high);
  const double centre = low + 0.5 * (high - low);
  breaks.push_back(centre);
  for (double d = high - low; d > 0.0 && d < sd; d *= growth) {
    if (centre - d > mean + ends[0] * sd) breaks.push_back(centre - d);
    if (centre + d < mean - ends[0] * sd) breaks.push_back(centre + d);
  }
  thread_local LogIntegral integral;
  integral.over(h, std::move(breaks));
  return std::min(1.0, std::exp(integral.log_mass()));
}

/// The doubles in their order as whole numbers, so that halving a bracket of them takes at most 64 steps.
std::int64_t rank_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}
double of_rank(std::int64_t rank) {
  const std::int64_t bits = rank < 0 ? std::numeric_limits<std::int64_t>::min() - rank : rank;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
double middle_rank(double low, double high) {
  const std::int64_t a = rank_of(low), b = rank_of(high);
  return of_rank(a / 2 + b / 2 + (a % 2 + b % 2) / 2);
}

// A coordinate on the whole real line for a response between the ends of its support, and back.
class Coordinate {
 public:
  explicit Coordinate(const Support& support)
      : low_(support.low), range_(support.high - support.low), bounded_(std::isfinite(support.low)) {}
  double of(double y) const {
    if (!bounded_) return y;
    const double above = std::log(y - low_);
    return std::isinf(range_) ? above : above - std::log(range_ - (y - low_));
  }
  double response(double t) const {
    if (!bounded_) return t;
    return low_ + (std::isinf(range_) ? std::exp(t) : range_ / (1.0 + std::exp(-t)));
  }

 private:
  double low_, range_;
  bool bounded_;
};

/// The smallest response whose distribution function reaches the probability: a bracket around it, on a scale
/// on which tails are nearly straight, that interpolation and bisection close.
template <class TailsOf>
class QuantileSearch {
 public:
  QuantileSearch(TailsOf tails, const Support& support, bool discrete, double probability)
      : tails_(tails),
        support_(support),
        discrete_(discrete),
        p_(probability),
        // Whole numbers are in the middle of what they stand for.
        coordinate_(discrete ? Support{support.low - 0.5, support.high + 0.5} : support),
        low_(std::max(discrete ? support.low - 1.0 : support.low, -most)),
        high_(std::min(support.high, most)) {}

  /// `guess`: where to look first, `noise`: how far off it may be.
  double operator()(double guess, double noise) {
    double t = coordinate_.of(guess), stride = 0.5 * (coordinate_.of(guess + noise) - t);
    if (!(stride > 0.0 && stride < infinity)) stride = 0.5;
    // Outwards until both ends of the bracket are new.
    bool inside = take(at(t));
    for (const int side = side_; inside && side_ == side; stride *= 2.0)
      inside = take(at(t += side > 0 ? -stride : stride));
    side_ = 0;
    if (high_ == most && excess(high_) < 0.0) return support_.high;
    if (low_ == -most && excess(low_) >= 0.0) return support_.low;
    while (take(inner())) {
    }
    // Next to an end of the support there are no more numbers.
    return high_ - support_.low == std::numeric_limits<double>::denorm_min() ? support_.low : high_;
  }

 private:
  static constexpr double most = std::numeric_limits<double>::max();
  static constexpr double rounding = 1e-15, close = 1e-12;
  static constexpr double last_exact = 4503599627370496.0;  // 2^52

  double at(double t) const {
    const double y = coordinate_.response(t);
    return discrete_ ? std::floor(y + 0.5) : y;
  }
  // How far the distribution function is beyond the probability, by the smaller tail.
  double excess(double y) const {
    const Tails tails = tails_(y);
    return p_ < 0.5 ? std::log(tails.lower) - std::log(p_) : std::log1p(-p_) - std::log(tails.upper);
  }
  /// The bracket ends at y from now on; false where y is not inside of it, or where there is no need to go
  /// on.
  bool take(double y) {
    if (!(y > low_ && y < high_)) return false;
    const double value = excess(y);
    if (!discrete_ && std::fabs(value) <= close) {
      low_ = high_ = y;
      return false;
    }
    if (value >= 0.0) {
      high_ = y;
      at_high_ = value;
      if (side_ > 0) at_low_ *= 0.5;  // the end that stays twice counts half (Illinois)
    } else {
      low_ = y;
      at_low_ = value;
      if (side_ < 0) at_high_ *= 0.5;
    }
    side_ = value >= 0.0 ? 1 : -1;
    if (discrete_) return high_ - low_ > 1.0;
    return high_ - low_ > rounding * (std::fabs(low_) + std::fabs(high_));
  }
  /// By bisection where an end is infinite or interpolation is slow.
  double inner() {
    const double width = static_cast<double>(rank_of(high_)) - static_cast<double>(rank_of(low_));
    slow_ = width > 0.5 * width_ ? slow_ + 1 : 0;
    width_ = width;
    if (slow_ < 2 && std::isfinite(at_low_) && std::isfinite(at_high_)) {
      const double a = coordinate_.of(low_), b = coordinate_.of(high_);
      const double y = at(a + (b - a) * (at_low_ / (at_low_ - at_high_)));
      if (y > low_ && y < high_) return y;
    }
    slow_ = 0;
    if (!discrete_) return middle_rank(low_, high_);
    return std::floor(high_ - low_ < last_exact ? low_ + 0.5 * (high_ - low_) : middle_rank(low_, high_));
  }

  TailsOf tails_;
  Support support_;
  bool discrete_;
  double p_;
  Coordinate coordinate_;
  double low_, high_;                               // not reached, reached
  double at_low_ = -infinity, at_high_ = infinity;  // excess, where it is known
  double width_ = infinity;
  int side_ = 0, slow_ = 0;
};

}  // namespace

double predictive_log_mean(const Likelihood& likelihood, double mean, double variance, double sign) {
  if (sign > 0.0) {
    if (const auto value = likelihood.predictive_log_mean(mean, variance)) return *value;
  }
  const StandardFunction* f = likelihood.log_inverse_link();
  if (!f) throw std::invalid_argument("the mean of this likelihood's response has no logarithm");
  if (const auto value = f->log_mean_exp(sign * mean, variance)) return *value;
  // Small shares need digits of their own.
  const double share =
      gaussian_mean(likelihood, mean, variance, [&](double eta) { return std::exp(f->value(sign * eta)); });
  return share > small_share ? std::log(std::min(share, 1.0)) : log_mean_exp(*f, sign * mean, variance);
}

double predictive_mean(const Likelihood& likelihood, double size, double mean, double variance) {
  if (const auto value = likelihood.predictive_mean(size, mean, variance)) return *value;
  if (likelihood.log_inverse_link()) {
    // Shares of one, rounding included.
    const double share = std::exp(predictive_log_mean(likelihood, mean, variance, 1.0));
    const double rest = std::exp(predictive_log_mean(likelihood, mean, variance, -1.0));
    return size * (share / (share + rest));
  }
  return gaussian_mean(likelihood, mean, variance,
                       [&](double eta) { return likelihood.conditional_mean(size, &eta); });
}

double predictive_mean_variance(const Likelihood& likelihood, double size, double mean, double variance) {
  if (const auto value = likelihood.predictive_mean_variance(size, mean, variance)) return *value;
  const double centre = predictive_mean(likelihood, size, mean, variance);
  return gaussian_mean(likelihood, mean, variance, [&](double eta) {
    const double difference = likelihood.conditional_mean(size, &eta) - centre;
    return difference * difference;
  });
}

double predictive_variance(const Likelihood& likelihood, double size, double mean, double variance) {
  const double explained = predictive_mean_variance(likelihood, size, mean, variance);
  if (const auto noise = likelihood.predictive_noise(size, mean, variance)) return explained + *noise;
  return explained + gaussian_mean(likelihood, mean, variance,
                                   [&](double eta) { return likelihood.conditional_variance(size, &eta); });
}

double predictive_log_density(const Likelihood& likelihood, const Datum& datum, double mean,
                              double variance) {
  if (const auto value = likelihood.predictive_log_density(datum, mean, variance)) return *value;
  if (variance == 0.0) return likelihood.log_density(datum, &mean);
  thread_local TiltedRule rule;
  rule.place(likelihood, datum, 1.0, mean, variance);
  return rule.log_mass();
}

Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, double mean, double variance) {
  const Support support = likelihood.support(datum.size);
  if (datum.y >= support.high) return {1.0, 0.0};
  if (datum.y < support.low || datum.y == -infinity) return {0.0, 1.0};
  if (const auto tails = likelihood.predictive_tails(datum, mean, variance)) return *tails;
  if (const auto mixture = likelihood.normal_mixture())
    return mixture_tails(likelihood, *mixture, datum, mean, variance);
  if (!likelihood.discrete() && datum.y == support.low) return {0.0, 1.0};
  if (const auto crossing = likelihood.crossing(datum); crossing && variance > 0.0)
    return crossing_tails(likelihood, datum, *crossing, mean, variance);
  const double lower = variance > 0.0 ? monotone_mean(likelihood, datum, mean, std::sqrt(variance))
                                      : likelihood.conditional_cdf(datum, &mean);
  return {lower, 1.0 - lower};
}

double predictive_quantile(const Likelihood& likelihood, double size, double mean, double variance,
                           double probability) {
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw std::invalid_argument("`probability` must lie between 0 and 1");
  }
  if (const auto value = likelihood.predictive_quantile(size, mean, variance, probability)) return *value;
  const Support support = likelihood.support(size);
  if (probability == 0.0) return support.low;
  if (probability == 1.0) return support.high;
  auto tails = [&](double y) { return predictive_tails(likelihood, {y, size}, mean, variance); };
  // Means rise with eta.
  const double eta = mean + std::sqrt(variance) * normal_quantile(probability);
  QuantileSearch search(tails, support, likelihood.discrete(), probability);
  return search(likelihood.conditional_mean(size, &eta),
                std::sqrt(likelihood.conditional_variance(size, &eta)));
}

}  // namespace galvi
