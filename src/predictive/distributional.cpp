// Predictions of a response with two linear predictors: those given the second one, averaged over it.
#include "likelihood/distributional.h"

#include <algorithm>
#include <cmath>

#include "likelihood/normal.h"
#include "predictive/predictive.h"
#include "quadrature/log_integral.h"

namespace galvi {
namespace {

/// L(eta_2) - (eta_2 - mean)^2 / (2 variance), L = log_quantity(likelihood given eta_2).
template <class LogQuantity>
class OverSecond final : public LogIntegrand {
 public:
  OverSecond(const Distributional& likelihood, double mean, double variance, LogQuantity log_quantity)
      : likelihood_(likelihood), mean_(mean), variance_(variance), log_quantity_(log_quantity) {}
  double value(double second) const override {
    const double value = L(second) - 0.5 * (second - mean_) * (second - mean_) / variance_;
    return std::isnan(value) ? -infinity : value;
  }
  // L bends over a length of about 1, as eta_2 is the logarithm or the logit of a parameter.
  double slope(double second, double& curvature) const override {
    constexpr double step = 1e-2;
    const double below = L(second - step), at = L(second), above = L(second + step);
    curvature = 1.0 / variance_ - (above - 2.0 * at + below) / (step * step);
    return (above - below) / (2.0 * step) - (second - mean_) / variance_;
  }

 private:
  double L(double second) const { return log_quantity_(*likelihood_.given(second)); }

  const Distributional& likelihood_;
  double mean_, variance_;
  LogQuantity log_quantity_;
};

/// log E exp(log_quantity) over eta_2. The integrand may have two maxima: one near the Gaussian's mean, one
/// where eta_2 fits the datum.
template <class LogQuantity>
double log_mean_over_second(const Distributional& likelihood, const Datum& datum, const double* mean,
                            const double* variance, LogQuantity log_quantity) {
  if (variance[1] == 0.0) return log_quantity(*likelihood.given(mean[1]));
  const double sd = std::sqrt(variance[1]), other = likelihood.second_of(datum, mean[0], variance[0]);
  const OverSecond<LogQuantity> h(likelihood, mean[1], variance[1], log_quantity);
  thread_local LogIntegral integral;
  integral.two_peaks(h, mean[1], std::isfinite(other) ? other : mean[1], sd);
  return integral.log_mass() - std::log(sd) - log_sqrt_2pi;
}

}  // namespace

double predictive_mean(const Likelihood& likelihood, double size, const double* mean,
                       const double* variance) {
  const Distributional* form = likelihood.distributional();
  return predictive_mean(form ? *form->given(mean[1]) : likelihood, size, *mean, *variance);
}

double predictive_log_mean(const Likelihood& likelihood, const double* mean, const double* variance,
                           double sign) {
  const Distributional* form = likelihood.distributional();
  return predictive_log_mean(form ? *form->given(mean[1]) : likelihood, *mean, *variance, sign);
}

double predictive_mean_variance(const Likelihood& likelihood, double size, const double* mean,
                                const double* variance) {
  const Distributional* form = likelihood.distributional();
  return predictive_mean_variance(form ? *form->given(mean[1]) : likelihood, size, *mean, *variance);
}

double predictive_variance(const Likelihood& likelihood, double size, const double* mean,
                           const double* variance) {
  const Distributional* form = likelihood.distributional();
  if (!form) return predictive_variance(likelihood, size, *mean, *variance);
  const double second = form->second_of_variance(mean[1], variance[1]);
  return predictive_variance(*form->given(second), size, *mean, *variance);
}

double predictive_log_density(const Likelihood& likelihood, const Datum& datum, const double* mean,
                              const double* variance) {
  const Distributional* form = likelihood.distributional();
  if (!form) return predictive_log_density(likelihood, datum, *mean, *variance);
  return log_mean_over_second(*form, datum, mean, variance, [&](const Likelihood& given) {
    return predictive_log_density(given, datum, *mean, *variance);
  });
}

// Of two probabilities that add up to one the one that is smaller, or not much larger, is integrated: it
// keeps its digits.
Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, const double* mean,
                       const double* variance) {
  const Distributional* form = likelihood.distributional();
  if (!form) return predictive_tails(likelihood, datum, *mean, *variance);
  const Tails middle = predictive_tails(*form->given(mean[1]), datum, *mean, *variance);
  const bool left = middle.lower < middle.upper;
  const double log_part =
      log_mean_over_second(*form, datum, mean, variance, [&](const Likelihood& given) {
        const Tails tails = predictive_tails(given, datum, *mean, *variance);
        return std::log(left ? tails.lower : tails.upper);
      });
  const double part = std::min(1.0, std::exp(log_part));
  return left ? Tails{part, 1.0 - part} : Tails{1.0 - part, part};
}

}  // namespace galvi
