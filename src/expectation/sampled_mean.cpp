#include "expectation/sampled_mean.h"

#include <map>
#include <memory>
#include <mutex>

#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

// Standard functions live as long as the program, and so do their samples.
const SampledFunction& samples_of(const StandardFunction& f) {
  static std::mutex mutex;
  static std::map<const StandardFunction*, std::unique_ptr<SampledFunction>> table;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& entry = table[&f];
  if (!entry) entry = std::make_unique<SampledFunction>(f);
  return *entry;
}

void from_rule(const StandardFunction& f, double mean, double variance, double l[5]) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, f.smoothness());
  for (int k = 0; k < 5; ++k) l[k] = 0.0;
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    double at_node[5];
    f.derivatives(rule.nodes()[j], at_node);
    for (int k = 0; k < 5; ++k) l[k] += rule.weights()[j] * at_node[k];
  }
}

}  // namespace

SampledMean::SampledMean(const StandardFunction& f) : f_(f), samples_(samples_of(f)) {}

void SampledMean::evaluate(double sign, double mean, double variance, int order,
                           PointExpectation& out) const {
  double l[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
  if (!samples_.means(sign * mean, variance, order, l)) from_rule(f_, sign * mean, variance, l);
  out = {l[0], sign * l[1], 0.5 * l[2], l[2], 0.5 * sign * l[3], 0.25 * l[4]};
}

}  // namespace galvi
