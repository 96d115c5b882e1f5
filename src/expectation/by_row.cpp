#include "expectation/by_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "expectation/gaussian_rule.h"
#include "numeric/parallel.h"

namespace galvi {
namespace {

constexpr Index block_rows = 1024;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr PointExpectation not_a_gaussian{nan, nan, nan, nan, nan, nan};

Index blocks_of(Index rows) { return (rows + block_rows - 1) / block_rows; }

void check_sizes(const Data& data, const Matrix& mean, const Matrix& variance) {
  const Index N = data.y.size();
  if (mean.rows() != N || variance.rows() != N || mean.cols() != 1 || variance.cols() != 1 ||
      data.size.size() != N || data.weight.size() != N) {
    throw std::invalid_argument("mean and variance must be N x 1, y, size and weight of length N");
  }
}

// sum over nodes of weight times d log p / d hyper
void add_quadrature_gradient(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                             double weight, GaussianRule& rule, VectorRef gradient) {
  rule.place(mean, variance, likelihood.smoothness());
  for (std::size_t j = 0; j < rule.nodes().size(); ++j) {
    likelihood.add_gradient(datum, &rule.nodes()[j], weight * rule.weights()[j], gradient);
  }
}

}  // namespace

void ByRow::evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                     const Matrix& variance, int order, Expectations& out) const {
  check_sizes(data, mean, variance);
  const Index N = data.y.size();
  out.value.resize(N);
  for (Matrix* part : {&out.d_mean, &out.d_variance}) part->resize(N, 1);
  if (order > 1) {
    for (Matrix* part : {&out.d_mm, &out.d_mv, &out.d_vv}) part->resize(N, 1);
  }
  parallel_for(context, blocks_of(N), 200.0 * static_cast<double>(N), [&](Index block) {
    const Index last = std::min(N, (block + 1) * block_rows);
    for (Index n = block * block_rows; n < last; ++n) {
      // A row of weight 0 says nothing, even where its own value has overflown.
      const double weight = data.weight[n];
      PointExpectation row{0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
      if (weight != 0.0) {
        const double m = mean(n, 0), v = variance(n, 0);
        if (std::isfinite(m) && v >= 0.0 && v < infinity) {
          evaluate_row(likelihood, data[n], m, v, order, row);
        } else {
          row = not_a_gaussian;
        }
      }
      out.value[n] = weight * row.value;
      out.d_mean(n, 0) = weight * row.d_m;
      out.d_variance(n, 0) = weight * row.d_v;
      if (order > 1) {
        out.d_mm(n, 0) = weight * row.d_mm;
        out.d_mv(n, 0) = weight * row.d_mv;
        out.d_vv(n, 0) = weight * row.d_vv;
      }
    }
  });
  ++context.cost.sweeps;
}

void ByRow::add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                         const Matrix& variance, VectorRef gradient) const {
  if (!likelihood.has_hyper()) return;
  check_sizes(data, mean, variance);
  const Index N = data.y.size();
  Matrix parts = Matrix::Zero(gradient.size(), blocks_of(N));  // one column per block, summed in order
  parallel_for(context, blocks_of(N), 200.0 * static_cast<double>(N), [&](Index block) {
    GaussianRule rule;
    const Index last = std::min(N, (block + 1) * block_rows);
    for (Index n = block * block_rows; n < last; ++n) {
      const double weight = data.weight[n], m = mean(n, 0), v = variance(n, 0);
      if (weight == 0.0) continue;
      if (!likelihood.add_expected_gradient(data[n], m, v, weight, parts.col(block))) {
        add_quadrature_gradient(likelihood, data[n], m, v, weight, rule, parts.col(block));
      }
    }
  });
  for (Index block = 0; block < parts.cols(); ++block) gradient += parts.col(block);
  ++context.cost.sweeps;
}

}  // namespace galvi
