#include "expectation/by_row.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "expectation/row_scratch.h"
#include "numeric/alike_rows.h"
#include "numeric/parallel.h"
#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

constexpr Index block_rows = 1024;
constexpr double row_work = 200.0;  // approximate flops

Index blocks_of(Index rows) { return (rows + block_rows - 1) / block_rows; }

/// Which rows of a block have the same expectation as an earlier one. Where none of the first ones has, the others are not
/// looked at.
class RepeatedRows {
 public:
  RepeatedRows(bool look, const Data& data, const Matrix& mean, const Matrix& variance)
      : data_(data), mean_(mean), variance_(variance) {
    if (look) alike_.emplace(block_rows);
  }
  /// Called for all rows of the block, in their order: n or an earlier one.
  Index first(Index n) {
    constexpr Index enough = 64;
    if (!alike_) return n;
    const Index out = alike_->first(n, [&](Index row, const auto& add) {
      data_.for_numbers(row, add);
      for (Index k = 0; k < mean_.cols(); ++k) {
        add(mean_(row, k));
        add(variance_(row, k));
      }
    });
    repeated_ += out != n;
    if (++looked_ == enough && repeated_ == 0) alike_.reset();
    return out;
  }

 private:
  const Data& data_;
  const Matrix &mean_, &variance_;
  std::optional<AlikeRows> alike_;
  Index looked_ = 0, repeated_ = 0;
};

/// Row n of what is found is that of row `from`.
void copy_row(Index from, Index n, int order, Expectations& out) {
  out.value[n] = out.value[from];
  for (Matrix* part : {&out.d_mean, &out.d_variance}) part->row(n) = part->row(from);
  if (order > 1)
    for (Matrix* part : {&out.d_mm, &out.d_mv, &out.d_vv}) part->row(n) = part->row(from);
}

void check_sizes(const Likelihood& likelihood, const Data& data, const Matrix& mean, const Matrix& variance) {
  const Index N = data.y.size(), K = likelihood.latents();
  if (mean.rows() != N || variance.rows() != N || mean.cols() != K || variance.cols() != K ||
      data.size.size() != N || data.weight.size() != N) {
    throw std::invalid_argument("mean and variance must be N x K, y, size and weight of length N");
  }
}

}  // namespace

void ByRow::evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                     const Matrix& variance, int order, Expectations& out) const {
  check_sizes(likelihood, data, mean, variance);
  const Index N = data.y.size(), K = mean.cols();
  out.value.resize(N);
  for (Matrix* part : {&out.d_mean, &out.d_variance}) part->resize(N, K);
  if (order > 1) {
    for (Matrix* part : {&out.d_mm, &out.d_mv, &out.d_vv}) part->resize(N, K * K);
  }
  parallel_for(context, blocks_of(N), row_work * static_cast<double>(N * K), [&](Index block) {
    RowScratch scratch(K);
    const RowExpectation& row = scratch.row;
    RepeatedRows repeated(costly(), data, mean, variance);
    const Index last = std::min(N, (block + 1) * block_rows);
    for (Index n = block * block_rows; n < last; ++n) {
      if (const Index first = repeated.first(n); first != n) {
        copy_row(first, n, order, out);
        continue;
      }
      // A row of weight 0 contributes nothing, even where its own value overflows.
      const double weight = data.weight[n];
      scratch.fill(0.0);
      if (weight != 0.0) {
        if (scratch.gather(mean, variance, n)) {
          evaluate_row(likelihood, data[n], scratch.mean, scratch.variance, order, scratch.row);
        } else {
          scratch.fill(std::numeric_limits<double>::quiet_NaN());
        }
      }
      out.value[n] = weight * row.value;
      for (Index k = 0; k < K; ++k) {
        out.d_mean(n, k) = weight * row.d_m[k];
        out.d_variance(n, k) = weight * row.d_v[k];
      }
      if (order > 1) {
        for (Index k = 0; k < K * K; ++k) {
          out.d_mm(n, k) = weight * row.d_mm[k];
          out.d_mv(n, k) = weight * row.d_mv[k];
          out.d_vv(n, k) = weight * row.d_vv[k];
        }
      }
    }
  });
  ++context.cost.sweeps;
}

void ByRow::add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                         const Matrix& variance, VectorRef gradient) const {
  if (!likelihood.has_hyper()) return;
  check_sizes(likelihood, data, mean, variance);
  const Index N = data.y.size(), K = mean.cols();
  Matrix parts = Matrix::Zero(gradient.size(), blocks_of(N));  // one column per block, summed in order
  parallel_for(context, blocks_of(N), row_work * static_cast<double>(N * K), [&](Index block) {
    RowScratch scratch(K);
    RepeatedRows repeated(costly(), data, mean, variance);
    const Index begin = block * block_rows, last = std::min(N, begin + block_rows);
    Vector weight = data.weight.segment(begin, last - begin);  // of all rows that are alike
    for (Index n = begin; n < last; ++n)
      if (const Index first = repeated.first(n); first != n) {
        weight[first - begin] += weight[n - begin];
        weight[n - begin] = 0.0;
      }
    for (Index n = begin; n < last; ++n) {
      if (weight[n - begin] == 0.0 || !scratch.gather(mean, variance, n)) continue;
      add_row_gradient(likelihood, data[n], scratch.mean, scratch.variance, weight[n - begin], parts.col(block));
    }
  });
  for (Index block = 0; block < parts.cols(); ++block) gradient += parts.col(block);
  ++context.cost.sweeps;
}

void ScalarByRow::evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                               const double* variance, int order, RowExpectation& out) const {
  PointExpectation point{};
  evaluate_point(likelihood, datum, *mean, *variance, order, point);
  out.add(point);
}

void ScalarByRow::add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                   const double* variance, double weight, VectorRef gradient) const {
  if (likelihood.add_expected_gradient(datum, mean, variance, weight, gradient)) return;
  GaussianRule rule;
  rule.place(*mean, *variance, likelihood.smoothness(datum));
  for (std::size_t j = 0; j < rule.nodes().size(); ++j)
    likelihood.add_gradient(datum, &rule.nodes()[j], weight * rule.weights()[j], gradient);
}

}  // namespace galvi
