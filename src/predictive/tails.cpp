// The distribution function of a new response and its complement, each accurate relative to itself.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "function/normal.h"
#include "numeric/special_functions.h"
#include "predictive/predictive.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/log_integral.h"

namespace galvi {
namespace {

double or_nothing(double log_value) { return std::isnan(log_value) ? -infinity : log_value; }

constexpr double needle = 1e-6;  // a threshold so narrow relative to 1 and eta's sd is treated as normal

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
  LogIntegral integral;
  integral.concave(CrossingTail(likelihood, datum, mean, sd, side), mean, sd, mean);
  return std::exp(integral.log_mass());
}

// Of two probabilities that add up to one, the smaller (or one of about the same size) is integrated, for its
// relative accuracy.
Tails crossing_tails(const Likelihood& likelihood, const Datum& datum, const Crossing& crossing, double mean,
                     double variance) {
  const double sd = std::sqrt(variance);
  const Peak threshold = concave_peak(CrossingDensity(likelihood, datum), mean, 1.0);
  double z = (threshold.at - mean) / std::hypot(sd, threshold.scale);
  // responses of 1e20 and more may leave no digit
  if (std::isnan(z)) z = (likelihood.starting_eta(datum) - mean) / sd;
  double below = normal_cdf(z), above = normal_cdf(-z);
  if (!(threshold.scale < needle * std::min(1.0, sd))) {
    const bool left = z < 0.0;
    constexpr double most = 1.0 + 1e-6;
    if (const double tail = crossing_probability(likelihood, datum, mean, sd, left ? 1.0 : -1.0); tail <= most) {
      (left ? below : above) = tail;
      (left ? above : below) = 1.0 - tail;
    }
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
  /// Where the noise is as wide as everything else.
  double turn() const { return std::min(0.0, log_squared_ - std::max(2.0 * log_r_, log_variance_)); }

 private:
  // log -z, where V may overflow
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
    far = likelihood.conditional_cdf(datum.at(mean + r), &mean);
  } else {
    const MixtureTail h(mixture, r, variance);
    LogIntegral integral;
    integral.two_peaks(h, 0.0, h.turn(), 1.0 / std::sqrt(mixture.shape));
    far = std::exp(integral.log_mass());
  }
  return datum.y < mean ? Tails{far, 1.0 - far} : Tails{1.0 - far, far};
}

/// P(Y <= y | eta) times the density of eta; the first is only known to be monotone in eta.
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
  /// Where the probability crosses 1/2: bisects (low, high) until it changes by at most 1/2 between them.
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

// Where the response varies much more than its mean does across eta's Gaussian, the distribution function is nearly a
// polynomial of eta there. Its coefficients of Hermite's polynomials of degrees seven and eight tell: they fall like powers,
// and the error of nine nodes is that of degree 18. Not in the tails, which need their digits.
std::optional<Tails> tails_by_few_nodes(const Likelihood& likelihood, const Datum& datum, double mean,
                                        double sd) {
  constexpr double tail = 1e-3, smooth = 1e-5;
  if (likelihood.classes() > 0) return std::nullopt;
  GaussianRule rule;
  rule.place_few(mean, sd);
  // from that at the mean, so that what does not vary keeps its last digit
  const double centre = likelihood.conditional_cdf(datum, &mean);
  double lower = centre, seventh = 0.0, eighth = 0.0;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const double eta = rule.nodes()[j], z = (eta - mean) / sd;
    const double share = rule.weights()[j] * (likelihood.conditional_cdf(datum, &eta) - centre);
    double before = 1.0, degree = z;
    for (int k = 1; k < 7; ++k) before = std::exchange(degree, z * degree - k * before);
    lower += share;
    seventh += share * degree;
    eighth += share * (z * degree - 7.0 * before);
  }
  // in units of their norms, the roots of 7! and 8!
  const double rough = std::hypot(seventh / 70.99295739719539, eighth / 200.79840636817812);
  if (!(lower >= tail && lower <= 1.0 - tail && rough <= smooth)) return std::nullopt;
  return Tails{lower, 1.0 - lower};
}

// By the trapezium sum, unless eta's Gaussian is vastly wider than the length over which the distribution
// function rises: its sd in units of the mean's change, the smallest one near the Gaussian. Both are
// convolutions with Gaussians, so that the spectrum of their product falls as a Gaussian with the sum of both
// precisions. Weights are cheap; the distribution function, which falls as the mean rises, is evaluated only
// where it is neither 0 nor 1.
std::optional<double> smooth_mean(const Likelihood& likelihood, const Datum& datum, double mean, double sd) {
  constexpr double reach = 10.0, exponent = 40.0, small = 1e-3, most_nodes = 4000.0, width = 2.6;
  constexpr double one = 1.0 - 1e-13, nothing = 1e-17;
  if (likelihood.classes() > 0) return std::nullopt;  // a class has no mean
  double precision = 0.0, rise = 0.0;
  for (int i = -4; i <= 4; ++i) {
    const double eta = mean + 0.25 * reach * i * sd, near[] = {eta - small, eta + small};
    const double slope =
        (likelihood.conditional_mean(datum, near + 1) - likelihood.conditional_mean(datum, near)) /
        (2.0 * small);
    precision = std::max(precision, slope * slope / likelihood.conditional_variance(datum, &eta));
    if (i == 0) rise = slope;
  }
  const double free_step = 2.0 * pi / std::sqrt(2.0 * exponent * (precision + 1.0 / (sd * sd)));
  const double step = std::min(free_step, 2.0 * pi * width / exponent);
  if (!(2.0 * reach * sd < most_nodes * step)) return std::nullopt;
  const int last = static_cast<int>(std::ceil(reach * sd / step)), nodes = 2 * last + 1;
  const double stride = rise < 0.0 ? -step : step;
  std::vector<double> weight(static_cast<std::size_t>(nodes));
  std::vector<double> from(weight.size() + 1, 0.0);  // from[j]: total weight of all nodes from the j-th on
  for (int j = nodes - 1; j >= 0; --j) {
    const double z = (j - last) * step / sd;
    weight[j] = std::exp(-0.5 * z * z);
    from[j] = from[j + 1] + weight[j];
  }
  const auto at = [&](int j) {
    const double eta = mean + (j - last) * stride;
    return likelihood.conditional_cdf(datum, &eta);
  };
  int half = 0;  // the first node where it is less than 1/2
  for (int end = nodes; half < end;) {
    const int middle = (half + end) / 2;
    if (at(middle) < 0.5) {
      end = middle;
    } else {
      half = middle + 1;
    }
  }
  double sum = 0.0;
  for (int j = half; j < nodes; ++j) {
    const double value = at(j);
    sum += weight[j] * value;
    if (value * from[j + 1] <= nothing * sum) break;
  }
  for (int j = half - 1; j >= 0; --j) {
    const double value = at(j);
    if (value >= one) {
      sum += from[0] - from[j + 1];
      break;
    }
    sum += weight[j] * value;
  }
  return sum / from[0];
}

// The first panels are a few sds of eta long, and shorter near the step of the probability.
double monotone_mean(const Likelihood& likelihood, const Datum& datum, double mean, double sd) {
  if (const auto value = smooth_mean(likelihood, datum, mean, sd)) return *value;
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
  LogIntegral integral;
  integral.over(h, std::move(breaks));
  return std::min(1.0, std::exp(integral.log_mass()));
}

}  // namespace

Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, double mean, double variance) {
  const Support support = likelihood.support(datum);
  if (datum.y >= support.high) return {1.0, 0.0};
  if (datum.y < support.low || datum.y == -infinity) return {0.0, 1.0};
  if (const auto tails = likelihood.predictive_tails(datum, mean, variance)) return *tails;
  if (const auto mixture = likelihood.normal_mixture(datum))
    return mixture_tails(likelihood, *mixture, datum, mean, variance);
  if (!likelihood.discrete() && !likelihood.mass_at_lowest() && datum.y == support.low) return {0.0, 1.0};
  if (variance > 0.0) {
    if (const auto tails = tails_by_few_nodes(likelihood, datum, mean, std::sqrt(variance))) return *tails;
  }
  if (const auto crossing = likelihood.crossing(datum); crossing && variance > 0.0)
    return crossing_tails(likelihood, datum, *crossing, mean, variance);
  const double lower = variance > 0.0 ? monotone_mean(likelihood, datum, mean, std::sqrt(variance))
                                      : likelihood.conditional_cdf(datum, &mean);
  return {lower, 1.0 - lower};
}

}  // namespace galvi
