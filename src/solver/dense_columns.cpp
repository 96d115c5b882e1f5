#include "solver/dense_columns.h"

#include <algorithm>

#include "numeric/parallel.h"
#include "rows/partition.h"

namespace galvi {

namespace {

// Sums are taken within this many groups of chunks and then over the groups in order, whatever the number of
// threads.
constexpr Index max_groups = 8;

// Columns of at most this many numbers (64 MiB for each latent value) are computed once for given hyperparameters: the
// values of a process at inducing points cost as much as what is computed from them.
constexpr double most_kept = 8388608;

}  // namespace

void DenseColumns::add_prior_variances(VectorRef v, Vector& c) const {
  const bool extra = prior_.has_extra_variances();
  c = Vector::Zero(extra ? rows_ : 0);
  if (size() == 0 && !extra) return;
  for_chunks(2.0 * rows_ * size(), [&](Index, Index begin, const ConstMatrixRef& chunk) {
    if (extra) prior_.add_extra_variances(design_, begin, chunk, c.segment(begin, chunk.rows()));
    prior_.add_column_variances(chunk, v.segment(begin, chunk.rows()));
  });
  if (extra) v += c;
}

Vector DenseColumns::row(Index n) const {
  Matrix row(1, size());
  fill(n, row);
  return row.transpose();
}

Vector DenseColumns::project(const Vector& x) const {
  Matrix sums = Matrix::Zero(size(), groups());
  if (size() > 0)
    for_chunks(2.0 * rows_ * size(), [&](Index group, Index begin, const ConstMatrixRef& chunk) {
      sums.col(group).noalias() += chunk.transpose() * x.segment(begin, chunk.rows());
    });
  return sums.rowwise().sum();
}

Vector DenseColumns::expand(const Vector& u) const {
  Vector out = Vector::Zero(rows_);
  add_expanded(u, out);
  return out;
}

void DenseColumns::add_expanded(const Vector& u, VectorRef out) const {
  if (size() == 0) return;
  for_chunks(2.0 * rows_ * size(), [&](Index, Index begin, const ConstMatrixRef& chunk) {
    out.segment(begin, chunk.rows()).noalias() += chunk * u;
  });
}

Index DenseColumns::chunk_rows() const {
  return std::min(rows_in_cache(size()), std::max<Index>(rows_, 1));
}

Index DenseColumns::groups() const { return std::min(max_groups, chunks()); }

void DenseColumns::refresh() {
  const bool few = static_cast<double>(rows_) * size() <= most_kept;
  kept_.resize(few && size() > 0 ? chunks() : 0);
  for (Kept& kept : kept_) kept.valid = false;
}

// A chunk belongs to one group, and so to one thread.
ConstMatrixRef DenseColumns::whitened(Index chunk, Matrix& buffer) const {
  const bool keep = !kept_.empty();
  Matrix& out = keep ? kept_[chunk].chunk : buffer;
  if (keep && kept_[chunk].valid) return out;
  out.resize(rows_of(chunk), size());
  fill(chunk * chunk_rows(), out);
  if (keep) kept_[chunk].valid = true;
  return out;
}

void DenseColumns::for_chunks(double flops, const ChunkBody& body) const {
  for_chunks(flops, [this](Index chunk, Matrix& buffer) { return whitened(chunk, buffer); }, body);
}

void DenseColumns::for_fixed_chunks(double flops, const ChunkBody& body) const {
  const ChunkOf fixed = [this](Index chunk, Matrix& buffer) -> ConstMatrixRef {
    buffer.resize(rows_of(chunk), size());
    fill_fixed(chunk * chunk_rows(), buffer);
    return buffer;
  };
  for_chunks(flops, fixed, body);
}

void DenseColumns::for_chunks(double flops, const ChunkOf& chunk_of, const ChunkBody& body) const {
  // Work is done in rounds, to poll between them; each group continues where it stopped.
  constexpr double round_flops = 1e9;
  const double work = flops + 4.0 * static_cast<double>(rows_) * size();
  const Index number = groups();
  if (number == 0) return;
  const Index rounds = std::clamp<Index>(static_cast<Index>(work / round_flops), 1, chunks() / number);
  for (Index round = 0; round < rounds; ++round)
    parallel_for(context_, number, work / rounds, [&](Index group) {
      const Index first = group * chunks() / number, count = (group + 1) * chunks() / number - first;
      Matrix buffer;
      for (Index c = first + round * count / rounds; c < first + (round + 1) * count / rounds; ++c)
        body(group, c * chunk_rows(), chunk_of(c, buffer));
    });
  context_.cost.flops += flops;
}

void DenseColumns::for_chunks_in_order(double flops, const ChunkBody& body, const ChunkBody& merge) const {
  const Index number = groups();
  const double work = flops + 4.0 * static_cast<double>(rows_) * size();
  std::vector<Matrix> buffers(number);
  for (Index first = 0; first < chunks(); first += number) {
    const Index count = std::min(number, chunks() - first);
    const auto begin = [&](Index group) { return (first + group) * chunk_rows(); };
    parallel_for(context_, count, work * count / chunks(), [&](Index group) {
      body(group, begin(group), whitened(first + group, buffers[group]));
    });
    for (Index group = 0; group < count; ++group) {
      const bool keep = !kept_.empty();
      merge(group, begin(group), keep ? kept_[first + group].chunk : buffers[group]);
    }
  }
  context_.cost.flops += flops;
}

}  // namespace galvi
