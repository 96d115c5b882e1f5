#include "solver/dense_columns.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/parallel.h"

namespace galvi {

DenseColumns::DenseColumns(Context& context, const Terms& terms, Index rows)
    : context_(context), terms_(terms), rows_(rows) {
  for (const auto& term : terms_) {
    begin_.push_back(size_);
    size_ += term->columns();
  }
}

void DenseColumns::update() {
  precision_.resize(size_);
  scale_.resize(size_);
  for (std::size_t t = 0; t < terms_.size(); ++t)
    scale_.segment(begin_[t], terms_[t]->columns()) = terms_[t]->coefficient_variance().cwiseSqrt();
  null_dimension_ = 0;
  for (Index j = 0; j < size_; ++j) {
    const bool flat = std::isinf(scale_[j]);
    precision_[j] = flat ? 0 : 1;
    if (flat) scale_[j] = 1;
    null_dimension_ += flat;
  }
}

Index DenseColumns::chunk_rows() const {
  if (context_.chunk_rows > 0) return context_.chunk_rows;
  return std::clamp<Index>(65536 / std::max<Index>(size_, 1), 64, 4096);
}

void DenseColumns::for_chunks(const Body& body, const Body& merge) const {
  const Index size = std::min(chunk_rows(), rows_), chunks = (rows_ + size - 1) / std::max<Index>(size, 1);
  std::vector<Matrix> buffers(std::min(slots, chunks), Matrix(size, size_));
  const auto run = [&](const Body& visit, Index first, Index slot) {
    const Index begin = (first + slot) * size;
    visit(slot, begin, buffers[slot].topRows(std::min(size, rows_ - begin)));
  };
  for (Index first = 0; first < chunks; first += slots) {
    const Index number = std::min(slots, chunks - first);
    parallel_for(context_, number, 4.0 * static_cast<double>(number * size * (size_ + 1)), [&](Index slot) {
      run([&](Index, Index begin, MatrixRef chunk) { fill(begin, chunk); }, first, slot);
      run(body, first, slot);
    });
    if (!merge) continue;
    for (Index slot = 0; slot < number; ++slot) run(merge, first, slot);
  }
}

void DenseColumns::fill(Index begin, MatrixRef chunk) const {
  for (std::size_t t = 0; t < terms_.size(); ++t)
    if (terms_[t]->columns() > 0) terms_[t]->fill(begin, chunk.middleCols(begin_[t], terms_[t]->columns()));
}

void DenseColumns::add_extra_variances(Index begin, const ConstMatrixRef& chunk, VectorRef c) const {
  for (std::size_t t = 0; t < terms_.size(); ++t)
    terms_[t]->add_extra_variances(begin, chunk.middleCols(begin_[t], terms_[t]->columns()), c);
}

Vector DenseColumns::project(const Vector& x) const {
  Matrix sums = Matrix::Zero(size_, slots);
  if (size_ > 0)
    for_chunks([&](Index slot, Index begin, MatrixRef chunk) {
      sums.col(slot).noalias() += chunk.transpose() * x.segment(begin, chunk.rows());
    });
  return sums.rowwise().sum();
}

Vector DenseColumns::expand(const Vector& u) const {
  Vector out = Vector::Zero(rows_);
  if (size_ > 0)
    for_chunks(
        [&](Index, Index begin, MatrixRef chunk) { out.segment(begin, chunk.rows()).noalias() = chunk * u; });
  return out;
}

void DenseColumns::throw_collinear() {
  throw std::domain_error(
      "columns with a flat prior, normal(0, Inf), are collinear or more than the rows: give them a finite sd "
      "in "
      "`prior`");
}

}  // namespace galvi
