#include "quadrature/log_normal_transform.h"

#include <algorithm>
#include <cmath>

#include "numeric/product_avx2.h"
#include "numeric/special_functions.h"
#include "quadrature/weighted_sums_avx2.h"

namespace galvi {
namespace {

using Four = Eigen::Array<double, 4, 1>;
using Nodes = Eigen::Array<double, Eigen::Dynamic, 1, 0, LogNormalTransform::block, 1>;

constexpr double blur_reach = 8.0;            // of a blur, in sds
constexpr double accuracy_exponent = 34.0;    // errors of exp(-34), times a power of the frequency
constexpr double least_sampled = 1.0 / 256;   // tables are used for variances from here ...
constexpr int table_count = 76;               // ... up to 2^30
constexpr double subnormal_product = 1e-280;  // products with subnormal numbers are slow and add nothing
constexpr Index most_phases = 1024;           // whose weights are kept
constexpr Index never = Index{1} << 60;

// Where small values need relative accuracy, tails begin further out.
double far_left(double variance) {
  return variance < 127.5 ? 16.0 + 2.0 * variance : 24.0 * std::sqrt(variance);
}
double far_right(double variance) {
  const double sd = std::sqrt(variance);
  return 5.0 + std::max(blur_reach * sd, std::min(3.0 * variance, 24.0 * sd));
}

// F_q is s^q exp(-s) convolved with a Gaussian. Its spectrum falls as exp(-pi w / 2 - v w^2 / 2), that of the
// convolution's Gaussian as exp(-blur w^2 / 2). A sum over nodes 2 pi / frequency apart has an error of the
// product at two frequencies that add up to this one; returned is minus the logarithm of its largest value.
double accuracy(double sampled, double blur, double frequency) {
  const double w = std::clamp((blur * frequency - 0.5 * pi) / (sampled + blur), 0.0, frequency);
  return 0.5 * pi * w + 0.5 * sampled * w * w + 0.5 * blur * (frequency - w) * (frequency - w);
}

// Half the width of a blur's sum.
double window(double blur, bool relative) {
  const double sd = std::sqrt(blur);
  return blur_reach * sd + (relative ? std::min(2.0 * blur, 16.0 * sd) : 0.0);
}

/// The 2n-th derivatives of s^q exp(-s) in log s are polynomials in s times exp(-s). With (variance / 2)^n /
/// n! they are the series of the blur.
struct SeriesTable {
  static constexpr int terms = 6;
  double coefficient[3][terms][13] = {};
  SeriesTable() {
    for (int q = 0; q < 3; ++q) {
      double p[13] = {};
      p[q] = 1.0;
      for (int n = 0; n < terms; ++n) {
        std::copy(p, p + 13, coefficient[q][n]);
        for (int twice = 0; twice < 2 && n + 1 < terms; ++twice) {
          // s d/ds [p exp(-s)] = (s p' - s p) exp(-s)
          for (int j = 12; j >= 0; --j) p[j] = j * p[j] - (j > 0 ? p[j - 1] : 0.0);
        }
      }
    }
  }
};

/// out[q] = sum_l weights[l] samples[q][l], q < orders.   taps: a multiple of four
void products(const double* weights, const double* const* samples, Index taps, int orders, double* out) {
  if (has_avx2()) return avx2::weighted_sums(weights, samples, taps, orders, out);
  for (int q = 0; q < orders; ++q) {
    Four sum = Four::Zero();
    for (Index l = 0; l < taps; l += 4)
      sum += Eigen::Map<const Four>(weights + l) * Eigen::Map<const Four>(samples[q] + l);
    out[q] = sum.sum();
  }
}

}  // namespace

struct LogNormalTransform::Table {
  double least;     // variance that it serves, up to the next table's
  double variance;  // v_b
  double step;
  Index first;                     // the first sample is at first * step
  std::vector<double> samples[3];  // F_q
};

double LogNormalTransform::left(double variance) {
  return variance < 16.0 ? 16.0 + variance : blur_reach * std::sqrt(variance);
}

double LogNormalTransform::right(double variance) { return 5.0 + blur_reach * std::sqrt(variance); }

double LogNormalTransform::tail(double t, double variance) {
  return -t >= variance ? std::exp(t + 0.5 * variance) : 0.0;
}

const std::vector<LogNormalTransform::Table>& LogNormalTransform::tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> made;
    made.reserve(table_count);
    for (int b = 0; b < table_count; ++b)
      made.push_back(
          sample(least_sampled * std::exp2(0.5 * b), least_sampled * std::exp2(0.5 * (b + 1)), made));
    return made;
  }();
  return all;
}

LogNormalTransform::Table LogNormalTransform::sample(double least, double most,
                                                     const std::vector<Table>& smaller) {
  // Among the accurate pairs of step and v_b, the one with the fewest products for a blur in the middle.
  Table table{least, 0.0, 0.0, 0, {}};
  double fewest = HUGE_VAL;
  double step = std::exp2(std::ceil(0.5 * std::log2(least)));
  for (; step > 0.1 * std::sqrt(least); step *= 0.5) {
    for (double share = 0.0; share < 0.95; share += 0.025) {
      const double variance = share * least, products = std::sqrt(1.2 * least - variance) / step;
      if (products >= fewest || accuracy(variance, least - variance, 2.0 * pi / step) < accuracy_exponent)
        continue;
      fewest = products;
      table.variance = variance;
      table.step = step;
    }
  }
  const double margin = window(most - table.variance, true) + 8.0 * table.step;
  table.first = static_cast<Index>(std::floor((-far_left(most) - margin) / table.step));
  const Index last = static_cast<Index>(std::ceil((far_right(most) + margin) / table.step));
  LogNormalTransform base;
  base.place_on(smaller, table.first * table.step, table.step, table.variance, true);
  for (std::vector<double>& column : table.samples) column.resize(last - table.first + 1 + block);
  for (Index j = 0; table.first + j <= last; j += block) {
    double* const at[3] = {&table.samples[0][j], &table.samples[1][j], &table.samples[2][j]};
    base.evaluate(j, block, 3, at);
  }
  for (std::vector<double>& column : table.samples) {
    for (double& sample : column) sample = sample < subnormal_product ? 0.0 : sample;
  }
  return table;
}

void LogNormalTransform::place(double first, double step, double variance, bool relative) {
  place_on(tables(), first, step, variance, relative);
}

void LogNormalTransform::place_on(const std::vector<Table>& tables, double first, double step,
                                  double variance, bool relative) {
  first_ = first;
  step_ = step;
  variance_ = variance;
  inner_ = nodes_before(-(relative ? far_left(variance) : left(variance)));
  end_ = nodes_before(far_right(variance));
  if (variance < least_sampled) return place_series();
  // Where v is so large that exp(-s) is a step in log s, F_0(t; v) is F_0 of c t and c^2 v, and F_1, F_2 are
  // c times theirs.
  scale_ = 1.0;
  const double most = least_sampled * std::exp2(0.5 * table_count);
  while (variance * scale_ * scale_ >= most) scale_ *= 0.5;
  const double band = 2.0 * std::log2(variance * scale_ * scale_ / least_sampled);
  place_table(tables[std::min(static_cast<std::size_t>(band), tables.size() - 1)], relative);
}

void LogNormalTransform::place_table(const Table& table, bool relative) {
  table_ = &table;
  const double blur = variance_ * scale_ * scale_ - table.variance;
  blur_ = blur / (table.step * table.step);
  taps_ = 4 * static_cast<Index>(std::ceil(0.5 * window(blur, relative) / table.step)) + 4;
  const double nodes_per_table_node = table.step / (step_ * scale_);
  phases_ = static_cast<Index>(std::max(1.0, nodes_per_table_node));
  stride_ = static_cast<Index>(std::max(1.0, 1.0 / nodes_per_table_node));
  if (inner_ == never) return;
  // On average the step is at -gamma.
  const double t = first_ + static_cast<double>(inner_) * step_;
  start_ = (t * scale_ + euler_gamma * (scale_ - 1.0)) / table.step;
  const bool kept = phases_ <= most_phases;
  weights_.resize(taps_ * (kept ? phases_ : 1));
  for (Index phase = 0; kept && phase < phases_; ++phase) weigh(phase, &weights_[phase * taps_]);
}

void LogNormalTransform::place_series() {
  static const SeriesTable table;
  table_ = nullptr;
  const int terms = variance_ > 0.0 ? SeriesTable::terms : 1;
  degree_ = 2 * (terms - 1);
  for (int q = 0; q < 3; ++q) {
    double weight = 1.0;
    std::fill(series_[q], series_[q] + 13, 0.0);
    for (int n = 0; n < terms; ++n) {
      for (int j = 0; j < 13; ++j) series_[q][j] += weight * table.coefficient[q][n][j];
      weight *= 0.5 * variance_ / (n + 1);
    }
  }
}

Index LogNormalTransform::nodes_before(double t) const {
  const double nodes = std::ceil((t - first_) / step_);
  return nodes < static_cast<double>(never) ? static_cast<Index>(std::max(nodes, 0.0)) : never;
}

void LogNormalTransform::evaluate(Index from, Index count, int orders, double* const* f) {
  const Index stop = from + count;
  const Index inner = std::clamp(inner_, from, stop), end = std::clamp(end_, inner, stop);
  auto shifted = [&](Index node, double* const* at, double* out[3]) {
    for (int q = 0; q < orders; ++q) out[q] = at[q] + (node - from);
  };
  double* at[3] = {};
  if (inner > from) expand(from, inner - from, orders, f);
  if (end > inner) {
    shifted(inner, f, at);
    table_ ? convolve(inner, end - inner, orders, at) : sum_series(inner, end - inner, orders, at);
  }
  for (int q = 0; q < orders; ++q) std::fill(f[q] + (end - from), f[q] + count, 0.0);
}

// 1 - F_0 and F_1 = E s - E s^2 + .., F_2 = E s^2 - .., term by term unless the variance is too wide.
void LogNormalTransform::expand(Index from, Index count, int orders, double* const* f) const {
  double t = first_ + static_cast<double>(from) * step_;
  // Steps this wide belong to variances whose tails are all 0, and 0 times infinity is not 0.
  const double growth = std::exp(std::min(step_, 300.0));
  double one = tail(t, variance_), two = -t >= 2.0 * variance_ ? std::exp(2.0 * (t + variance_)) : 0.0;
  for (Index i = 0; i < count; ++i) {
    f[0][i] = 1.0 - one + 0.5 * two;
    f[1][i] = one - two;
    if (orders > 2) f[2][i] = two;
    t += step_;
    one *= -t >= variance_ ? growth : 0.0;
    two *= -t >= 2.0 * variance_ ? growth * growth : 0.0;
  }
}

void LogNormalTransform::sum_series(Index from, Index count, int orders, double* const* f) const {
  Nodes s(count);
  double at = std::exp(first_ + static_cast<double>(from) * step_);
  const double growth = std::exp(step_);
  for (Index i = 0; i < count; ++i, at *= growth) s[i] = at;
  const Nodes decay = (-s).exp();
  for (int q = 0; q < orders; ++q) {
    Nodes sum = Nodes::Constant(count, series_[q][q + degree_]);
    for (int j = q + degree_ - 1; j >= 0; --j) sum = sum * s + series_[q][j];
    Eigen::Map<Nodes>(f[q], count) = sum * decay;
  }
}

void LogNormalTransform::convolve(Index from, Index count, int orders, double* const* f) {
  double sums[3] = {};
  for (Index i = 0; i < count; ++i) {
    const Index node = from + i - inner_, phase = node % phases_, round = node / phases_;
    const double* weights = weights_.data();
    if (phases_ > most_phases) {
      weigh(phase, weights_.data());
    } else {
      weights += phase * taps_;
    }
    const Index at =
        static_cast<Index>(std::floor(position(phase))) + round * stride_ - taps_ / 2 + 1 - table_->first;
    const double* const samples[3] = {&table_->samples[0][at], &table_->samples[1][at],
                                      &table_->samples[2][at]};
    products(weights, samples, taps_, orders, sums);
    f[0][i] = sums[0];
    f[1][i] = scale_ * sums[1];
    if (orders > 2) f[2][i] = scale_ * sums[2];
  }
}

// The Gaussian's density at the table nodes around the node.
void LogNormalTransform::weigh(Index phase, double* weights) const {
  const double at = position(phase), fraction = at - std::floor(at);
  const double half = 0.5 / blur_, factor = std::sqrt(half / pi);
  const double first = 1.0 - 0.5 * static_cast<double>(taps_) - fraction;
  for (Index l = 0; l < taps_; l += 4) {
    const Four distance = first + static_cast<double>(l) + Four(0.0, 1.0, 2.0, 3.0);
    Eigen::Map<Four>(weights + l) = factor * (-half * distance.square()).exp();
  }
}

}  // namespace galvi
