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

std::vector<int> groups_of(const KernelRows& rows, Index start, Index size) {
  const int* first = rows.group.data() + start;
  std::vector<int> groups(first, first + size);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

std::vector<Band> bands_of(const KernelRows& rows) {
  std::vector<Band> bands;
  const Index n = rows.inputs.rows();
  for (Index start = 0; start < n; start += tile_size) {
    Band band{start, std::min(tile_size, n - start), false, {}};
    if (rows.by.size() > 0) band.zero = (rows.by.segment(start, band.size).array() == 0).all();
    if (rows.group.size() > 0) band.groups = groups_of(rows, start, band.size);
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

// Calls visit(kernel, i, j) for every group in both bands: which rows of each it has, counted from the band's
// start. Entries of other pairs are zero, so that groups with kernels of their own cost their own blocks alone.
template <class F>
void for_groups(const GroupKernels& kernels, const KernelRows& rows, const Band& a, const KernelRows& others,
                const Band& b, const F& visit) {
  const auto members = [](const KernelRows& all, const Band& band, int group) {
    std::vector<Index> at;
    for (Index i = 0; i < band.size; ++i)
      if (all.group[band.start + i] == group) at.push_back(i);
    return at;
  };
  for (const int group : a.groups) {
    if (group < 1 || group > kernels.size() || !std::binary_search(b.groups.begin(), b.groups.end(), group))
      continue;
    visit(kernels.of(group), members(rows, a, group), members(others, b, group));
  }
}

Matrix inputs_at(const KernelRows& rows, const Band& band, const std::vector<Index>& at) {
  Matrix out(static_cast<Index>(at.size()), rows.inputs.cols());
  for (Index i = 0; i < out.rows(); ++i) out.row(i) = rows.inputs.row(band.start + at[i]);
  return out;
}

void value(const GroupKernels& kernels, const Kernel& kernel, const ConstMatrixRef& X, const ConstMatrixRef& Z,
           MatrixRef out) {
  kernels.centred() ? kernel.value_less_constant(X, Z, out) : kernel.value(X, Z, out);
}

void diagonal(const GroupKernels& kernels, const Kernel& kernel, const ConstMatrixRef& X, VectorRef out) {
  kernel.diagonal(X, out);
  if (kernels.centred()) out.array() -= kernel.constant();
}

// tile (a x b) = k(rows of a, others of b), zero between groups with different kernels
void fill_tile(const GroupKernels& kernels, const KernelRows& rows, const Band& a, const KernelRows& others,
               const Band& b, MatrixRef tile) {
  if (kernels.shared()) {
    value(kernels, kernels.of(1), rows.inputs.middleRows(a.start, a.size), others.inputs.middleRows(b.start, b.size),
          tile);
    return;
  }
  tile.setZero();
  for_groups(kernels, rows, a, others, b,
             [&](const Kernel& kernel, const std::vector<Index>& i, const std::vector<Index>& j) {
               Matrix own(static_cast<Index>(i.size()), static_cast<Index>(j.size()));
               value(kernels, kernel, inputs_at(rows, a, i), inputs_at(others, b, j), own);
               for (Index c = 0; c < own.cols(); ++c)
                 for (Index r = 0; r < own.rows(); ++r) tile(i[r], j[c]) = own(r, c);
             });
}

// hyper[h] += sum_ij tile_ij dk(a_i, b_j) / dh
void add_tile_gradient(const GroupKernels& kernels, const KernelRows& rows, const Band& a, const KernelRows& others,
                       const Band& b, const Matrix& tile, VectorRef hyper) {
  if (kernels.shared()) {
    kernels.of(1).gradient(rows.inputs.middleRows(a.start, a.size), others.inputs.middleRows(b.start, b.size), tile,
                           hyper, nullptr);
    return;
  }
  for_groups(kernels, rows, a, others, b,
             [&](const Kernel& kernel, const std::vector<Index>& i, const std::vector<Index>& j) {
               Matrix own(static_cast<Index>(i.size()), static_cast<Index>(j.size()));
               for (Index c = 0; c < own.cols(); ++c)
                 for (Index r = 0; r < own.rows(); ++r) own(r, c) = tile(i[r], j[c]);
               kernel.gradient(inputs_at(rows, a, i), inputs_at(others, b, j), own, hyper, nullptr);
             });
}

// What one entry costs, roughly: a difference, a square and a sum per input, and an exponential.
double flops_per_entry(const KernelRows& rows) { return 3.0 * rows.inputs.cols() + 20.0; }

double rough_work(const KernelRows& rows, const KernelRows& others) {
  return flops_per_entry(rows) * static_cast<double>(rows.inputs.rows() * others.inputs.rows());
}

// Calls use(column, a, b, tile) for every tile of the lower triangle, column after column of tiles on a thread.
// A tile on the diagonal is complete.
template <class Use>
void for_gram_tiles(Context& context, const GroupKernels& kernels, const KernelRows& rows,
                    const std::vector<Band>& bands, const Use& use) {
  const Index count = static_cast<Index>(bands.size());
  parallel_for(context, count, 0.5 * rough_work(rows, rows), [&](Index column) {
    const Band& b = bands[column];
    Matrix tile;
    for (Index row = column; row < count; ++row) {
      const Band& a = bands[row];
      if (all_zero(a, b)) continue;
      tile.resize(a.size, b.size);
      fill_tile(kernels, rows, a, rows, b, tile);
      apply_by_and_group(rows, a, rows, b, tile);
      use(column, a, b, tile);
    }
  });
  const double n = static_cast<double>(rows.inputs.rows());
  context.cost.flops += 0.5 * n * n * flops_per_entry(rows);
}

void add_tile(const Band& a, const Band& b, const Matrix& tile, MatrixRef K) {
  auto block = K.block(a.start, b.start, a.size, b.size);
  if (a.start == b.start) {
    block.triangularView<Eigen::Lower>() += tile;
  } else {
    block += tile;
  }
}

}  // namespace

void add_gram(Context& context, const GroupKernels& kernels, const KernelRows& rows, MatrixRef K) {
  const auto use = [&](Index, const Band& a, const Band& b, const Matrix& tile) { add_tile(a, b, tile, K); };
  for_gram_tiles(context, kernels, rows, bands_of(rows), use);
}

Vector add_gram_and_product(Context& context, const GroupKernels& kernels, const KernelRows& rows, const Vector& x,
                            MatrixRef K) {
  const std::vector<Band> bands = bands_of(rows);
  // a column per column of tiles, added in their order
  Matrix partial = Matrix::Zero(rows.inputs.rows(), static_cast<Index>(bands.size()));
  const auto use = [&](Index column, const Band& a, const Band& b, const Matrix& tile) {
    auto own = partial.col(column);
    own.segment(a.start, a.size).noalias() += tile * x.segment(b.start, b.size);
    if (a.start != b.start) own.segment(b.start, b.size).noalias() += tile.transpose() * x.segment(a.start, a.size);
    if (K.size() > 0) add_tile(a, b, tile, K);
  };
  for_gram_tiles(context, kernels, rows, bands, use);
  return partial.rowwise().sum();
}

void add_cross(Context& context, const GroupKernels& kernels, const KernelRows& rows, const KernelRows& others,
               MatrixRef K) {
  const std::vector<Band> bands = bands_of(rows);
  const std::vector<Band> other_bands = bands_of(others);
  parallel_for(context, static_cast<Index>(other_bands.size()), rough_work(rows, others), [&](Index column) {
    const Band& b = other_bands[column];
    Matrix tile;
    for (const Band& a : bands) {
      if (all_zero(a, b)) continue;
      tile.resize(a.size, b.size);
      fill_tile(kernels, rows, a, others, b, tile);
      apply_by_and_group(rows, a, others, b, tile);
      K.block(a.start, b.start, a.size, b.size) += tile;
    }
  });
  context.cost.flops += static_cast<double>(K.size()) * flops_per_entry(rows);
}

void add_diagonal(Context& context, const GroupKernels& kernels, const KernelRows& rows, VectorRef d) {
  Vector variance(rows.inputs.rows());
  if (kernels.shared()) {
    diagonal(kernels, kernels.of(1), rows.inputs, variance);
  } else {
    const Band band{0, variance.size(), false, groups_of(rows, 0, variance.size())};
    for_groups(kernels, rows, band, rows, band,
               [&](const Kernel& kernel, const std::vector<Index>& at, const std::vector<Index>&) {
                 Vector own(static_cast<Index>(at.size()));
                 diagonal(kernels, kernel, inputs_at(rows, band, at), own);
                 for (Index i = 0; i < own.size(); ++i) variance[at[i]] = own[i];
               });
  }
  if (rows.by.size() > 0) variance.array() *= rows.by.array().square();
  d += variance;
  context.cost.flops += static_cast<double>(rows.inputs.size());
}

void add_gram_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows,
                       const TileSource& G, VectorRef hyper) {
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
      add_tile_gradient(kernels, rows, a, rows, b, tile, partial.col(column));
    }
  });
  for (Index column = 0; column < count; ++column) hyper += partial.col(column);
  const double n = static_cast<double>(rows.inputs.rows());
  context.cost.flops += 0.5 * n * n * (2 * flops_per_entry(rows));
}

void add_cross_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows, const KernelRows& others,
                        const ConstMatrixRef& G, VectorRef hyper) {
  const std::vector<Band> bands = bands_of(rows), other_bands = bands_of(others);
  const Index count = static_cast<Index>(bands.size());
  Matrix partial = Matrix::Zero(hyper.size(), count);
  parallel_for(context, count, rough_work(rows, others), [&](Index row) {
    const Band& a = bands[row];
    Matrix tile;
    for (const Band& b : other_bands) {
      if (all_zero(a, b)) continue;
      tile = G.block(a.start, b.start, a.size, b.size);
      apply_by_and_group(rows, a, others, b, tile);
      add_tile_gradient(kernels, rows, a, others, b, tile, partial.col(row));
    }
  });
  for (Index row = 0; row < count; ++row) hyper += partial.col(row);
  context.cost.flops += static_cast<double>(G.size()) * (2 * flops_per_entry(rows));
}

// 2 sum_j G_ij by_j k(i, j)
Vector by_gradient(Context& context, const GroupKernels& kernels, const KernelRows& rows, const TileSource& G) {
  const KernelRows unscaled{rows.inputs, {}, rows.group};
  const std::vector<Band> bands = bands_of(unscaled);
  Matrix partial = Matrix::Zero(rows.inputs.rows(), static_cast<Index>(bands.size()));
  const auto use = [&](Index column, const Band& a, const Band& b, const Matrix& tile) {
    Matrix weighted(a.size, b.size);
    G(a.start, b.start, weighted);
    const bool diagonal = a.start == b.start;
    if (diagonal) weighted.triangularView<Eigen::StrictlyUpper>() = weighted.transpose();
    weighted.array() *= tile.array();
    auto own = partial.col(column);
    own.segment(a.start, a.size).noalias() += weighted * rows.by.segment(b.start, b.size);
    if (!diagonal) own.segment(b.start, b.size).noalias() += weighted.transpose() * rows.by.segment(a.start, a.size);
  };
  for_gram_tiles(context, kernels, unscaled, bands, use);
  return 2 * partial.rowwise().sum();
}

}  // namespace galvi
