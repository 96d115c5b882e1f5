#include "kernel/gram.h"

#include <algorithm>
#include <vector>

#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index tile_size = 48;

// Consecutive rows, and what decides whether a tile can be skipped.
struct Band {
  Index start, size;
  bool zero;                // `by` is zero throughout
  std::vector<int> groups;  // sorted, without repeats; empty if there are no groups
};

std::vector<Band> bands_of(const KernelRows& rows) {
  std::vector<Band> bands;
  const Index n = rows.inputs.rows();
  for (Index start = 0; start < n; start += tile_size) {
    Band band{start, std::min(tile_size, n - start), false, {}};
    if (rows.by.size() > 0) band.zero = (rows.by.segment(start, band.size).array() == 0).all();
    if (rows.group.size() > 0) {
      const int* first = rows.group.data() + start;
      band.groups.assign(first, first + band.size);
      std::sort(band.groups.begin(), band.groups.end());
      band.groups.erase(std::unique(band.groups.begin(), band.groups.end()), band.groups.end());
    }
    bands.push_back(std::move(band));
  }
  return bands;
}

bool all_zero(const Band& a, const Band& b) {
  if (a.zero || b.zero) return true;
  if (a.groups.empty() || b.groups.empty()) return false;
  return std::none_of(a.groups.begin(), a.groups.end(),
                      [&](int group) { return std::binary_search(b.groups.begin(), b.groups.end(), group); });
}

// tile(i, j) *= by_i by_j [group_i == group_j]
void apply_by_and_group(const KernelRows& rows, const Band& a, const KernelRows& others, const Band& b,
                        MatrixRef tile) {
  if (rows.by.size() > 0) tile.array().colwise() *= rows.by.segment(a.start, a.size).array();
  if (others.by.size() > 0) tile.array().rowwise() *= others.by.segment(b.start, b.size).array().transpose();
  if (a.groups.empty() || b.groups.empty() || (a.groups.size() == 1 && a.groups == b.groups)) return;
  for (Index j = 0; j < b.size; ++j) {
    const int group = others.group[b.start + j];
    for (Index i = 0; i < a.size; ++i) {
      if (rows.group[a.start + i] != group) tile(i, j) = 0;
    }
  }
}

// What one entry costs, roughly: a difference, a square and a sum per input, and an exponential.
double flops_per_entry(const KernelRows& rows) { return 3.0 * rows.inputs.cols() + 20.0; }

double rough_work(const KernelRows& rows, const KernelRows& others) {
  return flops_per_entry(rows) * static_cast<double>(rows.inputs.rows() * others.inputs.rows());
}

}  // namespace

void add_gram(Context& context, const Kernel& kernel, const KernelRows& rows, MatrixRef K) {
  const std::vector<Band> bands = bands_of(rows);
  const Index count = static_cast<Index>(bands.size());
  parallel_for(context, count, 0.5 * rough_work(rows, rows), [&](Index column) {
    const Band& b = bands[column];
    Matrix tile;
    for (Index row = column; row < count; ++row) {
      const Band& a = bands[row];
      if (all_zero(a, b)) continue;
      tile.resize(a.size, b.size);
      kernel.value(rows.inputs.middleRows(a.start, a.size), rows.inputs.middleRows(b.start, b.size), tile);
      apply_by_and_group(rows, a, rows, b, tile);
      auto block = K.block(a.start, b.start, a.size, b.size);
      if (row == column) {
        block.triangularView<Eigen::Lower>() += tile;
      } else {
        block += tile;
      }
    }
  });
  const double n = static_cast<double>(rows.inputs.rows());
  context.cost.flops += 0.5 * n * n * flops_per_entry(rows);
}

void add_cross(Context& context, const Kernel& kernel, const KernelRows& rows, const KernelRows& others,
               MatrixRef K) {
  const std::vector<Band> bands = bands_of(rows);
  const std::vector<Band> other_bands = bands_of(others);
  parallel_for(context, static_cast<Index>(other_bands.size()), rough_work(rows, others), [&](Index column) {
    const Band& b = other_bands[column];
    Matrix tile;
    for (const Band& a : bands) {
      if (all_zero(a, b)) continue;
      tile.resize(a.size, b.size);
      kernel.value(rows.inputs.middleRows(a.start, a.size), others.inputs.middleRows(b.start, b.size), tile);
      apply_by_and_group(rows, a, others, b, tile);
      K.block(a.start, b.start, a.size, b.size) += tile;
    }
  });
  context.cost.flops += static_cast<double>(K.size()) * flops_per_entry(rows);
}

void add_diagonal(Context& context, const Kernel& kernel, const KernelRows& rows, VectorRef d) {
  Vector variance(rows.inputs.rows());
  kernel.diagonal(rows.inputs, variance);
  if (rows.by.size() > 0) variance.array() *= rows.by.array().square();
  d += variance;
  context.cost.flops += static_cast<double>(rows.inputs.size());
}

void add_gram_gradient(Context& context, const Kernel& kernel, const KernelRows& rows, const TileSource& G,
                       VectorRef hyper) {
  const std::vector<Band> bands = bands_of(rows);
  const Index count = static_cast<Index>(bands.size());
  Matrix partial = Matrix::Zero(hyper.size(), count);  // a column per block, summed in block order
  parallel_for(context, count, 0.5 * rough_work(rows, rows), [&](Index column) {
    const Band& b = bands[column];
    Matrix tile;
    for (Index row = column; row < count; ++row) {
      const Band& a = bands[row];
      if (all_zero(a, b)) continue;
      tile.resize(a.size, b.size);
      G(a.start, b.start, tile);
      apply_by_and_group(rows, a, rows, b, tile);
      // The lower triangle stands for the upper one too.
      tile *= 2;
      if (row == column) {
        tile.triangularView<Eigen::StrictlyUpper>().setZero();
        tile.diagonal() *= 0.5;
      }
      kernel.gradient(rows.inputs.middleRows(a.start, a.size), rows.inputs.middleRows(b.start, b.size), tile,
                      partial.col(column), nullptr);
    }
  });
  for (Index column = 0; column < count; ++column) hyper += partial.col(column);
  const double n = static_cast<double>(rows.inputs.rows());
  context.cost.flops += 0.5 * n * n * (2 * flops_per_entry(rows));
}

}  // namespace galvi
