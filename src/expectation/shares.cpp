// Means over shares of a precision: over eta_1 by a quadrature rule, over eta_2 by one set of samples for all
// its nodes.
#include <algorithm>
#include <cmath>

#include "expectation/plane_forms.h"
#include "function/standard_function.h"
#include "quadrature/derivative_rule.h"
#include "quadrature/shifted_means.h"

namespace galvi {
namespace {

// The functions of eta_1 change where either share of the precision is about 1.
Smoothness smoothness_in_first(const Shares& form, const double* mean, const double* variance) {
  constexpr double width = 1.5, likely = 4.0;
  const double log_precision = mean[1] + likely * std::sqrt(variance[1]);
  const bool bends = !(form.first.empty() && form.second.empty());
  return {width, 0.0, 0.0, bends ? std::max(log_precision, 0.0) + std::log1p(std::exp(-std::fabs(log_precision))) : 0.0};
}

}  // namespace

MeanDerivatives expect(const Shares& form, const double* mean, const double* variance, int order) {
  DerivativeRule rule;
  ShiftedMeans whole, first, second;
  const int last = order > 1 ? 4 : 2;
  rule.place(mean[0], variance[0], smoothness_in_first(form, mean, variance));
  const std::vector<double>& nodes = rule.nodes();
  const auto [low, high] = std::minmax_element(nodes.begin(), nodes.end());
  const StandardFunction& log_share = log_sigmoid();
  if (!form.first.empty())
    first.place(variance[1], mean[1] + log_share.value(*low), mean[1] + log_share.value(*high), order, form.first);
  if (!form.second.empty())
    second.place(variance[1], mean[1] + log_share.value(-*high), mean[1] + log_share.value(-*low), order, form.second);
  const double precision = std::exp(mean[1] + 0.5 * variance[1]);

  MeanDerivatives out;
  double start[5];  // E d^q log p / d eta_2^q given eta_1 at the rule's first node
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    const double log_mu = log_share.value(nodes[j]), log_nu = log_share.value(-nodes[j]);
    double given[5] = {}, part[5];
    if (form.proportion > 0.0) {
      const double rate = precision * binary_divergence(nodes[j], form.proportion);
      for (double& g : given) g = -rate;
    }
    given[0] += form.share_weight * (log_mu + log_nu);
    if (!form.first.empty()) {
      first.means(mean[1] + log_mu, part);
      for (int q = 0; q <= last; ++q) given[q] += part[q];
    }
    if (!form.second.empty()) {
      second.means(mean[1] + log_nu, part);
      for (int q = 0; q <= last; ++q) given[q] += part[q];
    }
    if (j == 0) {
      std::copy(given, given + 5, start);
      continue;
    }
    for (int p = 0; p <= last; ++p)
      for (int q = 0; p + q <= last; ++q) out.f[p][q] += rule.weight(p, j) * (given[q] - start[q]);
  }
  if (!form.whole.empty()) {
    double part[5];
    whole.place(variance[1], mean[1], mean[1], order, form.whole);
    whole.means(mean[1], part);
    for (int q = 0; q <= last; ++q) start[q] += part[q];
  }
  for (int q = 0; q <= last; ++q) out.f[0][q] += start[q];
  out.f[0][0] += form.constant + form.slope * mean[1];
  out.f[0][1] += form.slope;
  return out;
}

}  // namespace galvi
