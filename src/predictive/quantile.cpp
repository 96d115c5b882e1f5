// Quantiles of a new response: a bracket on the tails, closed by interpolation and bisection.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "function/normal.h"
#include "likelihood/custom_several.h"
#include "likelihood/distributional.h"
#include "numeric/context.h"
#include "predictive/predictive.h"

namespace galvi {
namespace {

constexpr double most_of_few = 10.0;     // largest variance of eta_K for which few nodes suffice
constexpr double share_of_noise = 1e-4;  // its error, in sds of the response

/// The rank of a double among all doubles, so that bisection of ranks takes at most 64 steps.
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
        // A whole number stands for the unit interval around it.
        coordinate_(discrete ? Support{support.low - 0.5, support.high + 0.5} : support),
        low_(std::max(discrete ? support.low - 1.0 : support.low, -most)),
        high_(std::min(support.high, most)) {}

  /// `guess`: where the search starts; `noise`: the error of the guess.
  double operator()(double guess, double noise) {
    double t = coordinate_.of(guess), stride = 0.5 * (coordinate_.of(guess + noise) - t);
    // a noise that rounding loses leaves a few doubles to choose from
    if (!discrete_ && std::isfinite(t) && std::isfinite(stride))
      stride = std::max(stride, 0.5 * rounding * std::max(1.0, std::fabs(t)));
    else if (!(stride > 0.0 && stride < infinity))
      stride = 0.5;
    // Moves outwards until both ends of the bracket have moved.
    bool inside = take(at(t));
    for (const int side = side_; inside && side_ == side; stride *= 2.0) {
      const double y = at(t += side > 0 ? -stride : stride);
      // a short stride may not leave a whole number
      inside = take(y) || (discrete_ && (side < 0 ? y == low_ : y == high_ && y > support_.low));
    }
    side_ = 0;
    if (high_ == most && excess(high_) < 0.0) return support_.high;
    if (low_ == -most && excess(low_) >= 0.0) return support_.low;
    while (take(inner())) {
    }
    // No double lies between this and the end of the support.
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
  // The distribution function less the probability, measured in the smaller tail.
  double excess(double y) const {
    const Tails tails = tails_(y);
    return p_ < 0.5 ? std::log(tails.lower) - std::log(p_) : std::log1p(-p_) - std::log(tails.upper);
  }
  /// Moves an end of the bracket to y; false where y is outside the bracket or the bracket is narrow enough.
  bool take(double y) {
    if (!(y > low_ && y < high_)) return false;
    poll_within_row();
    const double value = excess(y);
    if (!discrete_ && std::fabs(value) <= close) {
      low_ = high_ = y;
      return false;
    }
    if (value >= 0.0) {
      high_ = y;
      at_high_ = value;
      if (side_ > 0) at_low_ *= 0.5;  // the Illinois rule for an end that stays twice
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
  double low_, high_;                               // below and at or above the quantile
  double at_low_ = -infinity, at_high_ = infinity;  // excess, where it is known
  double width_ = infinity;
  int side_ = 0, slow_ = 0;
};

/// `guess`, `noise` as in QuantileSearch.
template <class TailsOf>
double search_near(const Likelihood& likelihood, const Datum& row, double guess, double noise, double probability,
                   TailsOf tails) {
  const Support support = likelihood.support(row);
  if (probability == 0.0) return support.low;
  if (probability == 1.0) return support.high;
  QuantileSearch search(tails, support, likelihood.discrete(), probability);
  return search(guess, noise);
}

/// The end of the support if the quantile is nearer to it than any double inside: a search would take a
/// hundred steps to find out.
template <class TailsOf>
std::optional<double> end_of_support(const Likelihood& likelihood, const Datum& row, double probability, TailsOf tails) {
  const Support support = likelihood.support(row);
  if (likelihood.discrete() || probability == 0.0 || probability == 1.0) return std::nullopt;
  if (std::isfinite(support.low) && tails(std::nextafter(support.low, infinity)).lower >= probability)
    return support.low;
  if (std::isfinite(support.high) && tails(std::nextafter(support.high, -infinity)).lower < probability)
    return support.high;
  return std::nullopt;
}

// The search begins at the mean of the response at `eta`.   eta: K
template <class TailsOf>
double search_from(const Likelihood& likelihood, const Datum& row, const double* eta, double probability,
                   TailsOf tails) {
  return search_near(likelihood, row, likelihood.conditional_mean(row, eta),
                     std::sqrt(likelihood.conditional_variance(row, eta)), probability, tails);
}

void check_probability(double probability) {
  if (!(probability >= 0.0 && probability <= 1.0))
    throw std::invalid_argument("`probability` must lie between 0 and 1");
}

// Means rise with eta.
double eta_at(double probability, double mean, double variance) {
  return mean + std::sqrt(variance) * normal_quantile(probability);
}

}  // namespace

double predictive_quantile(const Likelihood& likelihood, const Datum& row, double mean, double variance,
                           double probability) {
  check_probability(probability);
  if (const auto value = likelihood.predictive_quantile(row, mean, variance, probability)) return *value;
  const double lowest = likelihood.support(row).low;
  if (likelihood.mass_at_lowest() &&
      predictive_tails(likelihood, row.at(lowest), mean, variance).lower >= probability)
    return lowest;
  const double highest = likelihood.support(row).high;
  if (likelihood.mass_at_highest() &&
      predictive_tails(likelihood, row.at(std::nextafter(highest, -infinity)), mean, variance).lower < probability)
    return highest;
  const double eta = eta_at(probability, mean, variance);
  return search_from(likelihood, row, &eta, probability, [&](double y) {
    return predictive_tails(likelihood, row.at(y), mean, variance);
  });
}

double predictive_quantile(const Likelihood& likelihood, const Datum& row, const double* mean,
                           const double* variance, double probability) {
  if (!likelihood.distributional())
    return predictive_quantile(likelihood, row, *mean, *variance, probability);
  check_probability(probability);
  if (const auto zeros = zero_mixture_quantile(likelihood, row, mean, variance, probability)) return *zeros;
  if (const CustomSeveral* custom = likelihood.distributional()->custom_several()) {
    const Support support = likelihood.support(row);
    if (probability == 0.0) return support.low;
    return probability == 1.0 ? support.high : custom->distribution(mean, variance).quantile(probability);
  }
  std::vector<double> eta(mean, mean + likelihood.latents());
  eta[0] = eta_at(probability, mean[0], variance[0]);
  const auto exact = [&](double y) { return predictive_tails(likelihood, row.at(y), mean, variance); };
  const PredictedParameter* form = likelihood.distributional()->predicted_parameter();
  if (!form || variance[form->last()] > most_of_few)
    return search_from(likelihood, row, eta.data(), probability, exact);
  // An approximate distribution leaves a few steps to the exact one.
  const FewNodes few(*form, mean, variance);
  const auto roughly = [&](double y) { return few.tails(row.at(y)); };
  if (end_of_support(likelihood, row, probability, roughly)) {
    const auto end = end_of_support(likelihood, row, probability, exact);
    return end ? *end : search_from(likelihood, row, eta.data(), probability, exact);
  }
  const double rough = search_from(likelihood, row, eta.data(), probability, roughly);
  if (!std::isfinite(rough)) return search_from(likelihood, row, eta.data(), probability, exact);
  const double noise = std::sqrt(likelihood.conditional_variance(row, eta.data()));
  return search_near(likelihood, row, rough, likelihood.discrete() ? 1.0 : share_of_noise * noise, probability, exact);
}

}  // namespace galvi
