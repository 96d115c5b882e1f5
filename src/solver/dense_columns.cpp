#include "solver/dense_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/parallel.h"

namespace galvi {

namespace {

// Sums are taken within this many groups of chunks and then in the order of the groups, whatever the threads.
constexpr Index max_groups = 8;

}  // namespace

DenseColumns::DenseColumns(Context& context, const Prior& prior, const DesignRows& rows)
    : context_(context), prior_(prior), design_(rows), rows_(rows.size()) {
  for (const auto& term : prior_) {
    begin_.push_back(size_);
    size_ += term->columns();
  }
}

void DenseColumns::refresh() {
  mean_.resize(size_);
  scale_.resize(size_);
  precision_.resize(size_);
  for (Index t = 0; t < prior_.size(); ++t) {
    const Index q = prior_[t].columns();
    if (q == 0) continue;
    mean_.segment(begin_[t], q) = prior_[t].coefficient_mean();
    scale_.segment(begin_[t], q) = prior_[t].coefficient_variance().cwiseSqrt();
  }
  null_dimension_ = 0;
  for (Index j = 0; j < size_; ++j) {
    const bool flat = std::isinf(scale_[j]);
    precision_[j] = flat ? 0 : 1;
    if (flat) scale_[j] = 1;
    null_dimension_ += flat;
  }
}

void DenseColumns::add_prior_variances(VectorRef v, Vector& c) const {
  const bool extra =
      std::any_of(prior_.begin(), prior_.end(), [](const auto& term) { return term->has_extra_variances(); });
  c = Vector::Zero(extra ? rows_ : 0);
  if (size_ == 0) return;
  for_chunks(2.0 * rows_ * size_, [&](Index, Index begin, MatrixRef chunk) {
    if (extra)
      for (Index t = 0; t < prior_.size(); ++t)
        prior_[t].add_extra_variances(design_[t], begin, chunk.middleCols(begin_[t], prior_[t].columns()),
                                      c.segment(begin, chunk.rows()));
    for (Index i = 0; i < chunk.rows(); ++i) {
      double flat = 0, proper = 0;
      for (Index j = 0; j < size_; ++j) (precision_[j] == 0 ? flat : proper) += chunk(i, j) * chunk(i, j);
      v[begin + i] += flat > 0 ? std::numeric_limits<double>::infinity() : proper;
    }
  });
  if (extra) v += c;
}

void DenseColumns::fill(Index begin, MatrixRef chunk) const {
  for (Index t = 0; t < prior_.size(); ++t)
    if (const Index q = prior_[t].columns())
      prior_[t].fill(design_[t], begin, chunk.middleCols(begin_[t], q));
}

Vector DenseColumns::row(Index n) const {
  Matrix row(1, size_);
  fill(n, row);
  return row.transpose();
}

Vector DenseColumns::project(const Vector& x) const {
  Matrix sums = Matrix::Zero(size_, groups());
  if (size_ > 0)
    for_chunks(2.0 * rows_ * size_, [&](Index group, Index begin, MatrixRef chunk) {
      sums.col(group).noalias() += chunk.transpose() * x.segment(begin, chunk.rows());
    });
  return sums.rowwise().sum();
}

Vector DenseColumns::expand(const Vector& u) const {
  Vector out = Vector::Zero(rows_);
  if (size_ > 0)
    for_chunks(2.0 * rows_ * size_, [&](Index, Index begin, MatrixRef chunk) {
      out.segment(begin, chunk.rows()).noalias() = chunk * u;
    });
  return out;
}

Index DenseColumns::chunk_rows() const {
  const Index fitting = std::clamp<Index>(65536 / std::max<Index>(size_, 1), 64, 4096);
  return std::min(context_.chunk_rows > 0 ? context_.chunk_rows : fitting, std::max<Index>(rows_, 1));
}

Index DenseColumns::groups() const { return std::min(max_groups, chunks()); }

void DenseColumns::fill_and(const ChunkBody& body, Index group, Index chunk, Matrix& buffer) const {
  const Index size = chunk_rows(), begin = chunk * size;
  auto rows = buffer.topRows(std::min(size, rows_ - begin));
  fill(begin, rows);
  body(group, begin, rows);
}

void DenseColumns::for_chunks(double flops, const ChunkBody& body) const {
  // Rounds leave room for a poll; each group goes on where it stopped.
  constexpr double round_flops = 1e9;
  const double work = flops + 4.0 * static_cast<double>(rows_) * size_;
  const Index number = groups();
  if (number == 0) return;
  const Index rounds = std::clamp<Index>(static_cast<Index>(work / round_flops), 1, chunks() / number);
  for (Index round = 0; round < rounds; ++round)
    parallel_for(context_, number, work / rounds, [&](Index group) {
      const Index first = group * chunks() / number, count = (group + 1) * chunks() / number - first;
      Matrix buffer(chunk_rows(), size_);
      for (Index c = first + round * count / rounds; c < first + (round + 1) * count / rounds; ++c)
        fill_and(body, group, c, buffer);
    });
  context_.cost.flops += flops;
}

void DenseColumns::for_chunks_in_order(double flops, const ChunkBody& body, const ChunkBody& merge) const {
  const Index number = groups(), size = chunk_rows();
  const double work = flops + 4.0 * static_cast<double>(rows_) * size_;
  std::vector<Matrix> buffers(number, Matrix(size, size_));
  for (Index first = 0; first < chunks(); first += number) {
    const Index count = std::min(number, chunks() - first);
    parallel_for(context_, count, work * count / chunks(),
                 [&](Index group) { fill_and(body, group, first + group, buffers[group]); });
    for (Index group = 0; group < count; ++group) {
      const Index begin = (first + group) * size;
      merge(group, begin, buffers[group].topRows(std::min(size, rows_ - begin)));
    }
  }
  context_.cost.flops += flops;
}

void DenseColumns::check_collinear(const ConstVectorRef& diagonal, const ConstVectorRef& variance) const {
  // 1 / (1 - R^2) of a column regressed on the others, by which its flat prior has no say
  constexpr double collinear = 1e13;
  for (Index j = 0; j < size(); ++j)
    if ((1 - precision()[j]) * diagonal[j] * variance[j] > collinear) throw_collinear();
}

void DenseColumns::throw_collinear() {
  throw std::domain_error(
      "columns with a flat prior, normal(0, Inf), are collinear or more than the rows: give them a finite sd "
      "in `prior`");
}

ColumnGradients::ColumnGradients(const Prior& prior, const DenseColumns& columns)
    : prior_(prior), columns_(columns), sums_(columns.groups()) {
  for (auto& sum : sums_)
    for (const auto& term : prior_) sum.push_back(term->columns() > 0 ? term->column_gradient() : nullptr);
}

void ColumnGradients::add(Index group, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                          const ConstVectorRef& g) {
  for (Index t = 0; t < prior_.size(); ++t) {
    const Index q = prior_[t].columns(), at = columns_.begin(t);
    if (q > 0) sums_[group][t]->add(columns_.rows()[t], begin, W.middleCols(at, q), G.middleCols(at, q), g);
  }
}

void ColumnGradients::finish(VectorRef hyper) {
  for (Index t = 0; t < prior_.size(); ++t) {
    if (prior_[t].columns() == 0) continue;
    for (std::size_t group = 1; group < sums_.size(); ++group) sums_[0][t]->merge(*sums_[group][t]);
    sums_[0][t]->finish(hyper);
  }
}

}  // namespace galvi
