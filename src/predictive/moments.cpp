// Moments and densities of a new response: in closed form where the likelihood has one, else by quadrature.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "function/standard_function.h"
#include "likelihood/tilted.h"
#include "predictive/predictive.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/log_mean_exp.h"

namespace galvi {
namespace {

constexpr double small_share = 0.01;

template <class Function>
double gaussian_mean(const Likelihood& likelihood, double mean, double variance, Function function) {
  if (variance == 0.0) return function(mean);  // as at each point of a posterior
  GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness());
  return rule.mean_of(function);
}

/// log E exp(f(x)) under x ~ N(mean, variance), accurate for small shares.
double log_share(const StandardFunction& f, double mean, double variance) {
  return log_mean_exp([&](double x, double out[5]) { f.derivatives(x, out); }, mean, variance);
}

}  // namespace

double predictive_log_mean(const Likelihood& likelihood, double mean, double variance, double sign) {
  if (sign > 0.0) {
    if (const auto value = likelihood.predictive_log_mean(mean, variance)) return *value;
  }
  const StandardFunction* f = sign > 0.0 ? likelihood.log_inverse_link() : likelihood.log_complement_link();
  if (!f) throw std::invalid_argument("the mean of this likelihood's response has no logarithm");
  if (variance == 0.0) return f->value(sign * mean);
  if (const auto value = f->log_mean_exp(sign * mean, variance)) return *value;
  // Small shares are integrated on the log scale, for their relative accuracy.
  const double share =
      gaussian_mean(likelihood, mean, variance, [&](double eta) { return std::exp(f->value(sign * eta)); });
  const bool small = share <= small_share && !f->heavy_tailed();
  return small ? log_share(*f, sign * mean, variance) : std::log(std::min(share, 1.0));
}

double predictive_mean(const Likelihood& likelihood, const Datum& row, double mean, double variance) {
  if (const auto value = likelihood.predictive_mean(row, mean, variance)) return *value;
  if (likelihood.log_inverse_link()) {
    // Normalised, so that both shares add up to one exactly.
    const double share = std::exp(predictive_log_mean(likelihood, mean, variance, 1.0));
    const double rest = std::exp(predictive_log_mean(likelihood, mean, variance, -1.0));
    return row.size * (share / (share + rest));
  }
  return gaussian_mean(likelihood, mean, variance,
                       [&](double eta) { return likelihood.conditional_mean(row, &eta); });
}

double predictive_mean_variance(const Likelihood& likelihood, const Datum& row, double mean, double variance) {
  if (variance == 0.0) return 0.0;
  if (const auto value = likelihood.predictive_mean_variance(row, mean, variance)) return *value;
  const double centre = predictive_mean(likelihood, row, mean, variance);
  return gaussian_mean(likelihood, mean, variance, [&](double eta) {
    const double difference = likelihood.conditional_mean(row, &eta) - centre;
    return difference * difference;
  });
}

double predictive_variance(const Likelihood& likelihood, const Datum& row, double mean, double variance) {
  const double explained = predictive_mean_variance(likelihood, row, mean, variance);
  if (const auto noise = likelihood.predictive_noise(row, mean, variance)) return explained + *noise;
  return explained + gaussian_mean(likelihood, mean, variance,
                                   [&](double eta) { return likelihood.conditional_variance(row, &eta); });
}

double predictive_log_density(const Likelihood& likelihood, const Datum& datum, double mean,
                              double variance) {
  if (const auto value = likelihood.predictive_log_density(datum, mean, variance)) return *value;
  if (variance == 0.0) return likelihood.log_density(datum, &mean);
  TiltedRule rule;
  rule.place(likelihood, datum, 1.0, mean, variance);
  return rule.log_mass();
}

}  // namespace galvi
