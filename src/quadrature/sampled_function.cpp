#include "quadrature/sampled_function.h"

#include <algorithm>
#include <cmath>

#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

using Four = Eigen::Array<double, 4, 1>;

constexpr double sample_reach = 7.5;  // in sds
// The tables serve |mean| <= 60 and variances from 0.001 to 1e4. They end on the right where f and its
// derivatives are negligible (below exp(-40) for all links but cauchit); on the left f is not.
constexpr double right_end = 40.0;
constexpr double mean_range = 60.0;
constexpr double least_variance = 0.001;
constexpr double most_variance = 1e4;

// The nodes a sinh(u) for larger variances. With the line of integration shifted by d the error of the sum is
//   exp(-2 pi d / step + (z^2 / cos(2 d) + a^2 / variance) sin(d)^2 / 2),   z = mean / sd,
// below exp(-33) for |z| up to 8 with this step (d = 0.6), and up to 1 with twice the step (d = 0.75). With a
// from the width up no singularity is met on the way, nor, for a up to 1.1 widths, are those of log Phi, 0.68
// widths to the right.
constexpr double wide_step = 1.0 / 16;
constexpr double spread_reach = 11.0;  // in sds: f may be large only 8 sds away
constexpr double most_z = 8.0, most_coarse_z = 1.0;
constexpr double widest_sd = 1e8;
constexpr double scale_in_widths = 1.1;

// out[k] = scale sum_j w_j f_k[j], w_j = exp(-(distance + j step)^2 / (2 variance)), four nodes at once;
// `distance` is that of the first node from the mean. From node to node w is multiplied by r and r by
// q = exp(-step^2 / variance).
template <int Order>
void weigh(const std::vector<double>* samples, Index from, Index count, double distance, double step,
           double variance, double* out) {
  const double half = 0.5 / variance;
  const double w = std::exp(-half * distance * distance);
  const double r = std::exp(-half * step * (2.0 * distance + step));
  const double q = std::exp(-2.0 * half * step * step);
  const double q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
  const double r4 = r * r * r * r * q4 * q2;
  Four weight(w, w * r, w * r * r * q, w * r * r * r * q2 * q);
  Four ratio(r4, r4 * q4, r4 * q8, r4 * q8 * q4);
  const double ratio_step = q8 * q8;
  const double *f0 = samples[0].data(), *f1 = samples[1].data(), *f2 = samples[2].data(),
               *f3 = samples[3].data(), *f4 = samples[4].data();
  // Five variables, because the compiler would keep an array in memory.
  Four sum0 = Four::Zero(), sum1 = sum0, sum2 = sum0, sum3 = sum0, sum4 = sum0;
  for (Index j = from; j < from + count; j += 4) {
    sum0 += weight * Eigen::Map<const Four>(f0 + j);
    sum1 += weight * Eigen::Map<const Four>(f1 + j);
    sum2 += weight * Eigen::Map<const Four>(f2 + j);
    if (Order > 1) {
      sum3 += weight * Eigen::Map<const Four>(f3 + j);
      sum4 += weight * Eigen::Map<const Four>(f4 + j);
    }
    weight *= ratio;
    ratio *= ratio_step;
  }
  const double scale = step / std::sqrt(variance) * 0.39894228040143267794;  // 1 / sqrt(2 pi)
  out[0] = scale * sum0.sum();
  out[1] = scale * sum1.sum();
  out[2] = scale * sum2.sum();
  out[3] = scale * sum3.sum();
  out[4] = scale * sum4.sum();
}

}  // namespace

SampledFunction::SampledFunction(const StandardFunction& function) : both_sides_(function.heavy_tailed()) {
  const double width = function.smoothness().width;
  double step = trapezium_step(most_variance, width), served_to = most_variance;
  while (served_to > least_variance) {
    // The least variance that this step is fine enough for, by bisection.
    double low = 0.0, high = served_to;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (trapezium_step(middle, width) < step ? low : high) = middle;
    }
    const double reach = mean_range + sample_reach * std::sqrt(served_to);
    tables_.push_back(sample(function, step, high, -reach, both_sides_ ? reach : right_end));
    served_to = high;
    step /= std::sqrt(2.0);
  }
  sample_widely(function);
}

SampledFunction::Table SampledFunction::sample(const StandardFunction& function, double step,
                                               double least_variance, double low, double end) const {
  Table table;
  table.step = step;
  table.least_variance = least_variance;
  table.first = static_cast<Index>(std::floor(low / step));
  const Index count = static_cast<Index>(std::ceil(end / step)) - table.first + 4;
  for (std::vector<double>& column : table.samples) column.resize(count);
  for (Index j = 0; j < count; ++j) {
    double f[5];
    function.derivatives((table.first + j) * step, f);
    // Products with subnormal numbers are a hundred times slower and negligible.
    for (int k = 0; k < 5; ++k) table.samples[k][j] = std::fabs(f[k]) < 1e-280 ? 0.0 : f[k];
  }
  return table;
}

bool SampledFunction::means(double mean, double variance, int order, double out[5]) const {
  if (variance > most_variance) return wide_means(mean, variance, out);
  if (variance < tables_.back().least_variance) return false;
  const Table* table = tables_.data();
  while (variance < table->least_variance) ++table;
  const double spread = sample_reach * std::sqrt(variance);
  if (!(mean - spread >= table->first * table->step && mean - spread <= right_end)) return false;
  if (both_sides_ && mean + spread > -table->first * table->step) return false;
  const Index from = static_cast<Index>(std::floor((mean - spread) / table->step)) - table->first;
  const Index size = static_cast<Index>(table->samples[0].size());
  const Index last = static_cast<Index>(std::ceil((mean + spread) / table->step)) - table->first;
  // Whole groups of four that end within the table; its last nodes are negligible.
  const Index count = std::min(last - from, size - 4 - from) / 4 * 4 + 4;
  const double distance = (table->first + from) * table->step - mean;
  if (order > 1) {
    weigh<2>(table->samples, from, count, distance, table->step, variance, out);
  } else {
    weigh<1>(table->samples, from, count, distance, table->step, variance, out);
  }
  return true;
}

void SampledFunction::sample_widely(const StandardFunction& function) {
  wide_scale_ = scale_in_widths * function.smoothness().width;
  const double farthest = (most_z + spread_reach) * widest_sd;
  const int last = static_cast<int>(std::ceil(std::asinh(farthest / wide_scale_) / wide_step)) + 1;
  for (int j = -last; j <= last; ++j) {
    WideNode node{wide_scale_ * std::sinh(j * wide_step), wide_scale_ * std::cosh(j * wide_step), {}};
    double f[5];
    function.derivatives(node.x, f);
    std::copy(f, f + 3, node.f);
    wide_.push_back(node);
  }
}

// With t = (x - mean) / sd Stein's identity gives
//   E f^(3) = E f^(2) t / sd,   E f^(4) = E f^(2) (t^2 - 1) / variance.
bool SampledFunction::wide_means(double mean, double variance, double out[5]) const {
  const double sd = std::sqrt(variance), z = std::fabs(mean) / sd;
  if (!(z <= most_z && sd <= widest_sd)) return false;
  const int stride = z <= most_coarse_z ? 2 : 1, middle = static_cast<int>(wide_.size() / 2);
  const double step = stride * wide_step;
  const auto place = [&](double x) { return std::asinh(x / wide_scale_) / step; };
  const double high = mean + spread_reach * sd;
  const int from = static_cast<int>(std::floor(place(mean - spread_reach * sd)));
  const int last = static_cast<int>(std::ceil(place(both_sides_ ? high : std::min(high, right_end))));
  std::fill(out, out + 5, 0.0);
  for (int j = from; j <= last; ++j) {
    const WideNode& node = wide_[static_cast<std::size_t>(middle + stride * j)];
    const double t = (node.x - mean) / sd, weight = node.slope * std::exp(-0.5 * t * t);
    const double bend = weight * node.f[2];
    out[0] += weight * node.f[0];
    out[1] += weight * node.f[1];
    out[2] += bend;
    out[3] += bend * t;
    out[4] += bend * (t * t - 1.0);
  }
  const double scale = step / sd * 0.39894228040143267794;  // 1 / sqrt(2 pi)
  for (int k = 0; k < 5; ++k) out[k] *= scale;
  out[3] /= sd;
  out[4] /= variance;
  return true;
}

}  // namespace galvi
