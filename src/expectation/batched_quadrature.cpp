#include "expectation/batched_quadrature.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/normal.h"
#include "likelihood/custom.h"

namespace galvi {
namespace {

constexpr Index batch_rows = 1024;
constexpr double narrow_sd = 0.03;      // units of eta, below which differences around the mean are used
constexpr int first_reach = 8, most_reach = 32, widening = 4;  // sds, in steps of the first sum
constexpr double bulk = 3.0;  // sds
constexpr int most_halvings = 7;
constexpr double agreement = 1e-5;      // of two sums, relative to that of |l - l(mean)|
constexpr double negligible_end = 1e-12;

// Nine Gauss-Hermite nodes suffice where sd is at most one unit, across which l is nearly a polynomial.
constexpr double hermite_sd = 1.0;  // units
constexpr double hermite_node[] = {0.0, 1.023255663789133, 2.076847978677830, 3.205429002856470, 4.512745863399783};
constexpr double hermite_weight[] = {0.406349206349206349, 0.244097502894939, 0.049916406765217876,
                                     0.0027891413212317678, 2.234584400774658e-5};

/// One row: its nodes t = low .. high, `1 << halvings` of them per unit, and the sums over them so far.
struct BatchedRow {
  double y, mean, sd;
  double centre = 0.0;  // l at the mean, subtracted from l at all nodes
  int low = -first_reach, high = first_reach, halvings = 0;
  double sums[5] = {}, size = 0.0, ends[2] = {};
  bool narrow = false, hermite = false, finite = true;
  double step() const { return std::ldexp(1.0, -halvings); }
};

/// Nodes of several rows that are evaluated together.
struct Nodes {
  std::vector<Index> row;
  std::vector<double> t;
  void add(Index r, double at) {
    row.push_back(r);
    t.push_back(at);
  }
};

class Batch {
 public:
  explicit Batch(const Custom& likelihood) : l_(likelihood) {}

  void add(double y, double mean, double variance) {
    BatchedRow row{y, mean, std::sqrt(variance)};
    row.narrow = row.sd < narrow_sd * l_.unit();
    row.hermite = !row.narrow && row.sd <= hermite_sd * l_.unit();
    rows_.push_back(row);
  }

  void integrate() {
    Nodes nodes;
    for (Index r = 0; r < size(); ++r)
      if (rows_[r].hermite)
        for (int j = -4; j <= 4; ++j) nodes.add(r, std::copysign(hermite_node[std::abs(j)], j));
      else if (!rows_[r].narrow)
        for (int t = rows_[r].low; t <= rows_[r].high; ++t) nodes.add(r, t);
    centre(nodes);
    visit(nodes);
    widen();
    halve();
  }

  Index size() const { return static_cast<Index>(rows_.size()); }

  PointExpectation expectation(Index r) const {
    const BatchedRow& row = rows_[r];
    if (row.narrow) return around_mean(row);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if (!row.finite) return {nan, nan, nan, nan, nan, nan};
    double e[5];
    const double scale = row.hermite ? 1.0 : row.step() / sqrt_2pi();
    for (int k = 0; k < 5; ++k) e[k] = scale * row.sums[k];
    if (!l_.has_derivatives())
      for (int k = 1; k < 5; ++k) e[k] /= std::pow(row.sd, k);
    else
      for (int k = 3; k < 5; ++k) e[k] /= std::pow(row.sd, k - 2);
    return {row.centre + e[0], e[1], 0.5 * e[2], e[2], 0.5 * e[3], 0.25 * e[4]};
  }

  /// For all rows with these weights, at the nodes that were found for l itself.
  void add_gradient(const Vector& weight, VectorRef gradient) const {
    std::vector<double> y, eta, w;
    const auto add = [&](Index r, double t, double share) {
      y.push_back(rows_[r].y);
      eta.push_back(rows_[r].mean + rows_[r].sd * t);
      w.push_back(weight[r] * share);
    };
    for (Index r = 0; r < size(); ++r) {
      const BatchedRow& row = rows_[r];
      if (row.narrow) {  // three nodes of Gauss and Hermite
        add(r, 0.0, 2.0 / 3.0);
        for (const double side : {-1.0, 1.0}) add(r, side * std::sqrt(3.0), 1.0 / 6.0);
        continue;
      }
      if (!row.finite) continue;
      if (row.hermite) {
        for (int j = -4; j <= 4; ++j)
          add(r, std::copysign(hermite_node[std::abs(j)], j), hermite_weight[std::abs(j)]);
        continue;
      }
      const double step = row.step();
      const Index count = static_cast<Index>(row.high - row.low) << row.halvings;
      for (Index j = 0; j <= count; ++j) {
        const double t = row.low + step * static_cast<double>(j);
        add(r, t, step / sqrt_2pi() * std::exp(-0.5 * t * t));
      }
    }
    const auto vector = [](const std::vector<double>& x) { return Vector(Eigen::Map<const Vector>(x.data(), x.size())); };
    l_.density().add_gradient(vector(y), vector(eta), vector(w), gradient);
  }

 private:
  static double sqrt_2pi() { return std::exp(log_sqrt_2pi); }

  PointExpectation around_mean(const BatchedRow& row) const {
    double l[5];
    l_.derivatives({row.y, 1.0}, row.mean, l);
    const double v = row.sd * row.sd;
    return {l[0] + 0.5 * v * l[2] + 0.125 * v * v * l[4], l[1] + 0.5 * v * l[3], 0.5 * (l[2] + 0.5 * v * l[4]),
            l[2] + 0.5 * v * l[4], 0.5 * l[3], 0.25 * l[4]};
  }

  // The first nodes of each row have t = 0 among them.
  void centre(const Nodes& nodes) {
    std::vector<Index> at;
    for (std::size_t j = 0; j < nodes.t.size(); ++j)
      if (nodes.t[j] == 0.0) at.push_back(nodes.row[j]);
    Vector y(at.size()), eta(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      y[i] = rows_[at[i]].y;
      eta[i] = rows_[at[i]].mean;
    }
    if (at.empty()) return;
    const Vector l = l_.log_densities(y, eta);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!std::isfinite(l[i])) l_.check(y[i], eta[i]);
      rows_[at[i]].centre = l[i];
    }
  }

  void visit(const Nodes& nodes) {
    const Index n = static_cast<Index>(nodes.t.size());
    if (n == 0) return;
    Vector y(n), eta(n);
    for (Index j = 0; j < n; ++j) {
      const BatchedRow& row = rows_[nodes.row[j]];
      y[j] = row.y;
      eta[j] = row.mean + row.sd * nodes.t[j];
    }
    const Vector l = l_.log_densities(y, eta);
    const bool given = l_.has_derivatives();
    Matrix d;
    if (given) d = l_.two_derivatives(y, eta);
    for (Index j = 0; j < n; ++j) {
      BatchedRow& row = rows_[nodes.row[j]];
      const double t = nodes.t[j], w = row.hermite ? weight_of(t) : std::exp(-0.5 * t * t), value = w * (l[j] - row.centre);
      bool finite = std::isfinite(value);
      row.sums[0] += value;
      row.size += std::fabs(value);
      if (given) {
        const double bend = w * d(j, 1);
        finite = finite && std::isfinite(bend) && std::isfinite(d(j, 0));
        row.sums[1] += w * d(j, 0);
        row.sums[2] += bend;
        row.sums[3] += bend * t;
        row.sums[4] += bend * (t * t - 1.0);
      } else {
        row.sums[1] += value * t;
        row.sums[2] += value * (t * t - 1.0);
        row.sums[3] += value * t * (t * t - 3.0);
        row.sums[4] += value * (t * t * (t * t - 6.0) + 3.0);
      }
      if (t == row.low) row.ends[0] = std::fabs(value) * t * t;
      if (t == row.high) row.ends[1] = std::fabs(value) * t * t;
      if (finite) continue;
      if (row.finite && std::fabs(t) <= bulk) l_.check(y[j], eta[j]);
      row.finite = false;
    }
  }

  static double weight_of(double t) {
    int j = 0;
    while (std::fabs(t) > hermite_node[j]) ++j;
    return hermite_weight[j];
  }

  // Where l grows so fast that the part beyond the ends matters.
  void widen() {
    for (;;) {
      Nodes nodes;
      for (Index r = 0; r < size(); ++r) {
        BatchedRow& row = rows_[r];
        if (row.narrow || row.hermite || !row.finite) continue;
        const double counts = negligible_end * row.size;
        if (row.ends[0] > counts && row.low > -most_reach) {
          for (int t = 1; t <= widening; ++t) nodes.add(r, row.low - t);
          row.low -= widening;
        }
        if (row.ends[1] > counts && row.high < most_reach) {
          for (int t = 1; t <= widening; ++t) nodes.add(r, row.high + t);
          row.high += widening;
        }
      }
      if (nodes.t.empty()) return;
      visit(nodes);
    }
  }

  // Adds the nodes in between for the rows whose last two sums differ.
  void halve() {
    std::vector<Index> open;
    for (Index r = 0; r < size(); ++r)
      if (!rows_[r].narrow && !rows_[r].hermite && rows_[r].finite) open.push_back(r);
    for (int round = 0; round < most_halvings && !open.empty(); ++round) {
      Nodes nodes;
      std::vector<BatchedRow> before;
      for (const Index r : open) {
        const BatchedRow& row = rows_[r];
        before.push_back(row);
        const double step = row.step();
        const Index count = static_cast<Index>(row.high - row.low) << row.halvings;
        for (Index j = 0; j < count; ++j) nodes.add(r, row.low + step * (static_cast<double>(j) + 0.5));
      }
      visit(nodes);
      std::vector<Index> still;
      for (std::size_t i = 0; i < open.size(); ++i) {
        BatchedRow& row = rows_[open[i]];
        ++row.halvings;
        if (row.finite && !agree(before[i], row)) still.push_back(open[i]);
      }
      open = std::move(still);
    }
  }

  // Errors of given derivatives are measured in the units of Stein's identity.
  bool agree(const BatchedRow& rough, const BatchedRow& fine) const {
    const double allowed = agreement * fine.step() * fine.size + 1e-14 * sqrt_2pi();
    for (int k = 0; k < 3; ++k) {
      const double unit = l_.has_derivatives() ? std::pow(fine.sd, k) : 1.0;
      if (!(std::fabs(rough.step() * rough.sums[k] - fine.step() * fine.sums[k]) * unit <= allowed)) return false;
    }
    return true;
  }

  const Custom& l_;
  std::vector<BatchedRow> rows_;
};

bool usable(double weight, double mean, double variance) {
  return weight != 0.0 && std::isfinite(mean) && variance >= 0.0 && variance < infinity;
}

}  // namespace

std::string BatchedQuadrature::refuses(const Likelihood& likelihood) const {
  return likelihood.custom() ? "" : "Quadrature by batches serves custom families.";
}

void BatchedQuadrature::evaluate(Context& context, const Likelihood& likelihood, const Data& data,
                                 const Matrix& mean, const Matrix& variance, int order,
                                 Expectations& out) const {
  const Index N = data.y.size();
  if (mean.rows() != N || variance.rows() != N || mean.cols() != 1 || variance.cols() != 1)
    throw std::invalid_argument("mean and variance must be N x 1");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  out.value = Vector::Constant(N, nan);
  for (Matrix* part : {&out.d_mean, &out.d_variance}) *part = Matrix::Constant(N, 1, nan);
  if (order > 1)
    for (Matrix* part : {&out.d_mm, &out.d_mv, &out.d_vv}) *part = Matrix::Constant(N, 1, nan);
  const auto set = [&](Index n, double weight, const PointExpectation& e) {
    out.value[n] = weight * e.value;
    out.d_mean(n, 0) = weight * e.d_m;
    out.d_variance(n, 0) = weight * e.d_v;
    if (order < 2) return;
    out.d_mm(n, 0) = weight * e.d_mm;
    out.d_mv(n, 0) = weight * e.d_mv;
    out.d_vv(n, 0) = weight * e.d_vv;
  };
  for (Index begin = 0; begin < N; begin += batch_rows) {
    context.monitor.poll();
    Batch batch(*likelihood.custom());
    std::vector<Index> rows;
    for (Index n = begin; n < std::min(N, begin + batch_rows); ++n) {
      if (data.weight[n] == 0.0) set(n, 0.0, {});
      if (!usable(data.weight[n], mean(n, 0), variance(n, 0))) continue;
      batch.add(data.y[n], mean(n, 0), variance(n, 0));
      rows.push_back(n);
    }
    batch.integrate();
    for (Index r = 0; r < batch.size(); ++r) set(rows[r], data.weight[rows[r]], batch.expectation(r));
  }
  ++context.cost.sweeps;
}

void BatchedQuadrature::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                     const double* variance, int /*order*/, RowExpectation& out) const {
  Batch batch(*likelihood.custom());
  batch.add(datum.y, *mean, *variance);
  batch.integrate();
  out.add(batch.expectation(0));
}

void BatchedQuadrature::add_gradient(Context& context, const Likelihood& likelihood, const Data& data,
                                     const Matrix& mean, const Matrix& variance, VectorRef gradient) const {
  if (!likelihood.has_hyper()) return;
  for (Index begin = 0; begin < data.y.size(); begin += batch_rows) {
    context.monitor.poll();
    Batch batch(*likelihood.custom());
    std::vector<double> weight;
    for (Index n = begin; n < std::min(data.y.size(), begin + batch_rows); ++n) {
      if (!usable(data.weight[n], mean(n, 0), variance(n, 0))) continue;
      batch.add(data.y[n], mean(n, 0), variance(n, 0));
      weight.push_back(data.weight[n]);
    }
    batch.integrate();
    batch.add_gradient(Eigen::Map<const Vector>(weight.data(), weight.size()), gradient);
  }
  ++context.cost.sweeps;
}

}  // namespace galvi
