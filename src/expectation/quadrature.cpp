#include "expectation/quadrature.h"

#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

constexpr double least_stein_sd = 0.25;      // in widths
constexpr double most_stein_distance = 8.0;  // in sds, of the mean from the bend
constexpr double least_mean = -50.0;         // a reflected function is needed further left on the right

// Standard functions, and so their samples, live as long as the program.
const SampledFunction& samples_of(const StandardFunction& f) {
  static std::mutex mutex;
  static std::map<const StandardFunction*, std::unique_ptr<SampledFunction>> table;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& entry = table[&f];
  if (!entry) entry = std::make_unique<SampledFunction>(f);
  return *entry;
}

// Where a function's scale is small relative to the Gaussian, high derivatives are large and cancel. Stein's identity
// gives their means from that of l^(from): with t = (x - mean) / sd, E l^(k + 1) = E l^(k) t / sd, E l^(k + 2) = E
// l^(k) (t^2 - 1) / v and so on.   l: at a node, those above `from` are replaced
void by_stein(int from, double t, double sd, double variance, double l[5]) {
  const double low = l[from];
  l[from + 1] = low * t / sd;
  l[from + 2] = low * (t * t - 1.0) / variance;
  if (from == 1) l[4] = low * t * (t * t - 3.0) / (variance * sd);
}

void from_rule(const StandardFunction& f, double mean, double variance, double l[5]) {
  GaussianRule rule;
  rule.place(mean, variance, f.smoothness());
  for (int k = 0; k < 5; ++k) l[k] = 0.0;
  const double sd = std::sqrt(variance);
  const bool wide = sd > least_stein_sd * f.smoothness().width;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    double at_node[5];
    f.derivatives(rule.nodes()[j], at_node);
    if (wide) by_stein(2, (rule.nodes()[j] - mean) / sd, sd, variance, at_node);
    for (int k = 0; k < 5; ++k) l[k] += rule.weights()[j] * at_node[k];
  }
}

}  // namespace

std::string Quadrature::refuses(const Likelihood& likelihood) const {
  if (likelihood.latents() != 1)
    return "Quadrature by nodes serves likelihoods with one latent value per observation.";
  if (likelihood.smoothness().width == 0.0) {
    return "The log density has a kink, where quadrature is inaccurate: use expectation = \"closed_form\".";
  }
  return "";
}

void Quadrature::evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean,
                                double variance, int /*order*/, PointExpectation& out) const {
  GaussianRule rule;
  const Smoothness smoothness = likelihood.smoothness(datum);
  rule.place(mean, variance, smoothness);
  // E l'' itself stays a sum with one sign where l is concave.
  const double sd = std::sqrt(variance), off = std::fabs(mean - smoothness.centre) - smoothness.spread;
  const bool narrow = sd > least_stein_sd * smoothness.width && off < most_stein_distance * sd;
  const bool concave = likelihood.log_concave();
  double l[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    const double node = rule.nodes()[j];
    double at_node[5];
    likelihood.derivatives(datum, node, at_node);
    if (narrow) by_stein(concave ? 2 : 1, (node - mean) / sd, sd, variance, at_node);
    for (int k = 0; k < 5; ++k) l[k] += rule.weights()[j] * at_node[k];
  }
  out = {l[0], l[1], 0.5 * l[2], l[2], 0.5 * l[3], 0.25 * l[4]};
}

SampledMean::SampledMean(const StandardFunction& f) : f_(f), samples_(samples_of(f)) {}

void SampledMean::evaluate(double sign, double mean, double variance, int order,
                           PointExpectation& out) const {
  double l[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  const double x = sign * mean;
  if (!f_.means_by_series(x, variance, l)) {
    const bool turned = f_.reflects() && x < least_mean;
    const double at = turned ? -x : x;
    if (!samples_.means(at, variance, order, l)) from_rule(f_, at, variance, l);
    if (turned) {
      l[0] += x;
      l[1] = 1.0 - l[1];
      l[3] = -l[3];
    }
  }
  out = {l[0], sign * l[1], 0.5 * l[2], l[2], 0.5 * sign * l[3], 0.25 * l[4]};
}

}  // namespace galvi
