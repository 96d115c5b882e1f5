#include "solver/separable_forms.h"

#include <algorithm>

#include "numeric/backend.h"
#include "numeric/parallel.h"
#include "prior/field.h"

namespace galvi {

namespace {

constexpr Index most_moments = 256;  // whose products are kept at a time

}  // namespace

/// The blocks of a moment among the values of a pattern: for each pair of runs, the first entry of each column. Moments
/// that follow each other often share them.
class SeparableForms::Blocks {
 public:
  Blocks(const SparseMatrix& pattern, const SeparableRows& rows, Index begin)
      : pattern_(pattern), rows_(rows), begin_(begin) {}
  /// Moment t.
  void use(Index t) {
    if (last_ >= 0 && rows_.run.col(last_) == rows_.run.col(t)) return;
    last_ = t;
    count = rows_.runs(t);
    first_.resize(rows_.width, count * count);
    for (Index j = 0; j < count; ++j)
      for (Index i = j; i < count; ++i)
        for (Index m = 0; m < rows_.width; ++m)
          first_(m, i + count * j) = position(pattern_, begin_ + rows_.run(i, t) + (i == j ? m : 0),
                                              begin_ + rows_.run(j, t) + m);
  }
  /// Of the block below the diagonal of runs i > j, the place of column m; of i = j, where the column starts with row m.
  Index at(Index i, Index j, Index m) const { return first_(m, i + count * j); }
  Index count = 0;  // of runs

  /// out += scale Z_ij (M x M), for any i and j.
  void add_to(const ConstVectorRef& values, Index i, Index j, double scale, Matrix& out) const {
    const Index M = rows_.width;
    for (Index m = 0; m < M; ++m) {
      if (i == j) {
        const auto column = values.segment(at(i, i, m), M - m);
        out.col(m).tail(M - m) += scale * column;
        out.row(m).tail(M - m - 1) += scale * column.tail(M - m - 1).transpose();
      } else if (i > j) {
        out.col(m) += scale * values.segment(at(i, j, m), M);
      } else {
        out.row(m) += scale * values.segment(at(j, i, m), M).transpose();
      }
    }
  }
  /// sum_ij a_i a_j Z_ij
  void form(const ConstVectorRef& values, const ConstVectorRef& a, Matrix& out) const {
    out.setZero(rows_.width, rows_.width);
    for (Index i = 0; i < count; ++i) add_to(values, i, i, a[i] * a[i], out);
    if (count == 1) return;
    Matrix off = Matrix::Zero(rows_.width, rows_.width);
    for (Index j = 0; j < count; ++j)
      for (Index i = j + 1; i < count; ++i) add_to(values, i, j, a[i] * a[j], off);
    out += off + off.transpose();
  }

 private:
  const SparseMatrix& pattern_;
  const SeparableRows& rows_;
  Index begin_, last_ = -1;
  Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic> first_;
};

SeparableForms::SeparableForms(const Term& term, const TermRows& rows, Index begin)
    : term_(term), rows_(term.separable_rows(rows)), begin_(begin) {
  rows_.space = Matrix::Zero(rows_.width, rows_.places.rows());
  rows_.time = Matrix::Zero(rows_.run.rows(), rows_.times.size());
}

SparseRows SeparableForms::expanded() const { return galvi::expanded(rows_, term_.field()->size()); }

void SeparableForms::add_pattern(std::vector<Eigen::Triplet<double>>& entries) const {
  const Index M = rows_.width;
  for (const std::vector<Index>& runs : term_.run_sets())
    for (std::size_t j = 0; j < runs.size(); ++j)
      for (std::size_t i = j; i < runs.size(); ++i)
        for (Index m = 0; m < M; ++m)
          for (Index l = i == j ? m : 0; l < M; ++l)
            entries.emplace_back(begin_ + runs[i] + l, begin_ + runs[j] + m, 0.0);
}

// u of each row of a moment.   M x n
Matrix SeparableForms::places(Index t) const {
  Matrix out(rows_.width, count(t));
  for (Index k = 0; k < out.cols(); ++k) out.col(k) = rows_.space.col(rows_.place[rows_.rows[rows_.first_row[t] + k]]);
  return out;
}

double SeparableForms::work() const {
  return 4.0 * static_cast<double>(rows_.size()) * static_cast<double>(rows_.width * rows_.width);
}

// For each moment S = sum_n lambda_n u_n u_n', then a_i a_j S in its blocks.
void SeparableForms::add_precision(Context& context, const SparseMatrix& pattern, const Vector& lambda,
                                   Vector& values) const {
  const Index T = rows_.times.size(), M = rows_.width;
  std::vector<Matrix> products(std::min(T, most_moments));
  Blocks blocks(pattern, rows_, begin_);
  for (Index begin = 0; begin < T; begin += most_moments) {
    const Index moments = std::min(most_moments, T - begin);
    parallel_for(context, moments, work() * static_cast<double>(moments) / static_cast<double>(T), [&](Index k) {
      const Matrix U = places(begin + k);
      Matrix weighted = U;
      for (Index n = 0; n < U.cols(); ++n) {
        const Index row = rows_.rows[rows_.first_row[begin + k] + n];
        weighted.col(n) *= lambda[row] * rows_.scale_of(row) * rows_.scale_of(row);
      }
      products[k].resize(M, M);
      if (U.cols() == 1)
        products[k].noalias() = weighted.col(0) * U.col(0).transpose();
      else
        context.backend.multiply(false, true, 1.0, weighted, U, 0.0, products[k]);
    });
    for (Index k = 0; k < moments; ++k) {
      const Matrix& S = products[k];
      const auto a = rows_.time.col(begin + k);
      blocks.use(begin + k);
      for (Index j = 0; j < blocks.count; ++j)
        for (Index i = j; i < blocks.count; ++i)
          for (Index m = 0; m < M; ++m) {
            const Index from = i == j ? m : 0;
            values.segment(blocks.at(i, j, m), M - from) += a[i] * a[j] * S.col(m).tail(M - from);
          }
    }
  }
}

void SeparableForms::add_quadratic_forms(Context& context, const SparseMatrix& pattern, const ConstVectorRef& values,
                                         Vector& out) const {
  constexpr Index parts = 64;
  const Index T = rows_.times.size();
  parallel_for(context, parts, work(), [&](Index part) {
    Blocks blocks(pattern, rows_, begin_);
    Matrix form;
    for (Index t = part * T / parts; t < (part + 1) * T / parts; ++t) {
      blocks.use(t);
      blocks.form(values, rows_.time.col(t), form);
      const Matrix U = places(t);
      Matrix product(U.rows(), U.cols());
      if (U.cols() == 1)
        product.noalias() = form * U;
      else
        context.backend.multiply(false, false, 1.0, form, U, 0.0, product);
      for (Index n = 0; n < U.cols(); ++n) {
        const Index row = rows_.rows[rows_.first_row[t] + n];
        out[row] += rows_.scale_of(row) * rows_.scale_of(row) * product.col(n).dot(U.col(n));
      }
    }
  });
}

// With B_j = sum_i a_i Z_ij and S = sum_n weight_n u_n u_n' of a moment, d bound / da_j = 2 <B_j, S> and d bound / du_n =
// 2 weight_n sum_j a_j B_j' u_n.
void SeparableForms::add_gradient(Context& context, const SparseMatrix& pattern, const ConstVectorRef& values,
                                  const Vector& weight, SeparableGradient& sums) const {
  const Index M = rows_.width;
  Blocks blocks(pattern, rows_, begin_);
  for (Index t = 0; t < rows_.times.size(); ++t) {
    if (t % most_moments == 0) context.monitor.poll();
    blocks.use(t);
    const auto a = rows_.time.col(t);
    const Matrix U = places(t);
    Matrix weighted = U, S(M, M), total = Matrix::Zero(M, M);
    for (Index n = 0; n < U.cols(); ++n) {
      const Index row = rows_.rows[rows_.first_row[t] + n];
      weighted.col(n) *= 2 * weight[row] * rows_.scale_of(row) * rows_.scale_of(row);
    }
    context.backend.multiply(false, true, 1.0, weighted, U, 0.0, S);
    for (Index j = 0; j < blocks.count; ++j) {
      Matrix B = Matrix::Zero(M, M);
      for (Index i = 0; i < blocks.count; ++i) blocks.add_to(values, i, j, a[i], B);
      sums.time(j, t) += B.cwiseProduct(S).sum();
      total += a[j] * B;
    }
    Matrix product(M, U.cols());
    context.backend.multiply(false, false, 1.0, total, weighted, 0.0, product);
    for (Index n = 0; n < U.cols(); ++n)
      sums.space.col(rows_.place[rows_.rows[rows_.first_row[t] + n]]) += product.col(n);
  }
}

}  // namespace galvi
