#include "prior/kernel_term.h"

#include <algorithm>

#include "prior/centre.h"

namespace galvi {

KernelTerm::KernelTerm(const TermSpec& spec)
    : Term(spec.label), kernels_(make_kernels(spec.kernels)), inputs_(spec.inputs),
      centre_(normalised(spec.centre, spec.label, spec.inputs)) {}

bool KernelTerm::is_centre(const KernelRows& rows) const {
  const KernelRows& own = centre_.rows;
  return rows.inputs.rows() == own.inputs.rows() && rows.group.size() == own.group.size() &&
         rows.inputs == own.inputs && (rows.group.size() == 0 || rows.group == own.group);
}

void KernelTerm::set_means(Vector mean) const {
  mean_ = std::move(mean);
  level_ = Vector::Zero(groups_of(centre_));
  for (Index r = 0; r < mean_.size(); ++r) level_[group_of(centre_.rows, r)] += centre_.weight[r] * mean_[r];
}

Vector KernelTerm::means(Context& context, const KernelRows& rows) const {
  if (mean_.size() == 0) {
    Matrix none;
    set_means(add_gram_and_product(context, of_groups(), centre_.rows, centre_.weight, none));
  }
  return is_centre(rows) ? mean_ : cross_means(context, rows);
}

// A few rows at a time.
Vector KernelTerm::cross_means(Context& context, const KernelRows& rows) const {
  constexpr Index width = 256;
  const Index n = rows.inputs.rows();
  Vector out(n);
  for (Index begin = 0; begin < n; begin += width) {
    const Index count = std::min(width, n - begin);
    KernelRows part{rows.inputs.middleRows(begin, count), {}, {}};
    if (rows.group.size() > 0) part.group = rows.group.segment(begin, count);
    Matrix K = Matrix::Zero(centre_.weight.size(), count);
    galvi::add_cross(context, of_groups(), centre_.rows, part, K);
    out.segment(begin, count) = K.transpose() * centre_.weight;
  }
  return out;
}

Vector KernelTerm::levels(const KernelRows& rows) const {
  Vector out(rows.inputs.rows());
  for (Index n = 0; n < out.size(); ++n) {
    const Index group = group_of(rows, n);
    out[n] = group < level_.size() ? level_[group] : 0;
  }
  return out;
}

namespace {

/// The rows without the last ones that a centred process leaves out, of which `by` is zero.
TermRows without_left_out(const TermRows& all) {
  const KernelRows& rows = all.kernel;
  Index n = rows.by.size();
  while (n > 0 && rows.by[n - 1] == 0) --n;
  if ((rows.by.head(n).array() == 0).any())
    throw std::invalid_argument("rows that a centred process leaves out must be the last ones");
  TermRows out;
  out.kernel.inputs = rows.inputs.topRows(n);
  if (rows.group.size() > 0) out.kernel.group = rows.group.head(n);
  return out;
}

bool same_group(const KernelRows& a, Index i, const KernelRows& b, Index j) {
  return a.group.size() == 0 || a.group[i] == b.group[j];
}

}  // namespace

void KernelTerm::add_covariance(Context& context, const TermRows& all, MatrixRef K) const {
  const KernelRows& rows = all.kernel;
  if (!centred()) return add_gram(context, of_groups(), rows, K);
  if (rows.by.size() > 0) {
    const TermRows own = without_left_out(all);
    const Index n = own.kernel.inputs.rows();
    if (n > 0) add_covariance(context, own, K.topLeftCorner(n, n));
    return;
  }
  if (mean_.size() == 0 && is_centre(rows)) {
    set_means(add_gram_and_product(context, of_groups(), rows, centre_.weight, K));
  } else {
    add_gram(context, of_groups(), rows, K);
  }
  const Vector m = means(context, rows), rest = m - levels(rows);
  const Index n = m.size();
  for (Index j = 0; j < n; ++j) {
    if (rows.group.size() == 0) {
      K.col(j).tail(n - j).array() -= m.tail(n - j).array() + rest[j];
      continue;
    }
    for (Index i = j; i < n; ++i)
      if (rows.group[i] == rows.group[j]) K(i, j) -= m[i] + rest[j];
  }
}

void KernelTerm::add_variances(Context& context, const TermRows& all, VectorRef d) const {
  const KernelRows& rows = all.kernel;
  if (!centred()) return add_diagonal(context, of_groups(), rows, d);
  if (rows.by.size() > 0) {
    const TermRows own = without_left_out(all);
    if (const Index n = own.kernel.inputs.rows(); n > 0) add_variances(context, own, d.head(n));
    return;
  }
  Vector variance = Vector::Zero(d.size());
  add_diagonal(context, of_groups(), rows, variance);
  const Vector m = means(context, rows);
  d += (variance - 2 * m + levels(rows)).cwiseMax(0.0);
}

void KernelTerm::add_cross(Context& context, const TermRows& all, const TermRows& all_others, MatrixRef K) const {
  const KernelRows &rows = all.kernel, &others = all_others.kernel;
  if (!centred()) return galvi::add_cross(context, of_groups(), rows, others, K);
  if (rows.by.size() > 0 || others.by.size() > 0) {
    const TermRows own = rows.by.size() > 0 ? without_left_out(all) : all;
    const TermRows own_others = others.by.size() > 0 ? without_left_out(all_others) : all_others;
    const Index n = own.kernel.inputs.rows(), m = own_others.kernel.inputs.rows();
    if (n > 0 && m > 0) add_cross(context, own, own_others, K.topLeftCorner(n, m));
    return;
  }
  const Vector m = means(context, rows);
  Vector rest;
  if (is_centre(rows)) {
    // the means of K's columns are those of the others
    Matrix own = Matrix::Zero(K.rows(), K.cols());
    galvi::add_cross(context, of_groups(), rows, others, own);
    rest = own.transpose() * centre_.weight - levels(others);
    K += own;
  } else {
    galvi::add_cross(context, of_groups(), rows, others, K);
    rest = means(context, others) - levels(others);
  }
  for (Index j = 0; j < K.cols(); ++j)
    for (Index i = 0; i < K.rows(); ++i)
      if (same_group(rows, i, others, j)) K(i, j) -= m[i] + rest[j];
}

// The covariance is T' K T over the rows and those of the centre, with T' = (I, -1 a') within groups, so that <G, T' dK
// T> = <T G T', dK>. Over the rows of the centre T' = I - 1 a', and with the sums g of G's rows over their group and the
// sums t of these over a group (T G T')_ij = G_ij - a_i g_j - g_i a_j + a_i a_j t.
void KernelTerm::add_covariance_gradient(Context& context, const TermRows& all, const Weights& G,
                                         VectorRef hyper) const {
  const KernelRows& rows = all.kernel;
  if (!centred()) return add_gram_gradient(context, of_groups(), rows, G.tile, hyper);
  if (rows.by.size() > 0) {
    const TermRows own = without_left_out(all);
    const Index n = own.kernel.inputs.rows(), N = rows.by.size();
    if (n == 0) return;
    const auto multiply = [&](const Matrix& X) {
      Matrix padded = Matrix::Zero(N, X.cols());
      padded.topRows(n) = X;
      return Matrix(G.multiply(padded).topRows(n));
    };
    return add_covariance_gradient(context, own, {G.tile, multiply}, hyper);
  }
  const Index n = rows.inputs.rows(), groups = groups_of(centre_), R = centre_.weight.size();
  if (is_centre(rows)) {
    Matrix member = Matrix::Zero(n, groups);
    for (Index i = 0; i < n; ++i) member(i, group_of(rows, i)) = 1;
    const Matrix product = G.multiply(member);
    const Vector& a = centre_.weight;
    const Vector g = product.cwiseProduct(member).rowwise().sum();
    const Vector total = member.transpose() * g;
    // a_i g_j + g_i a_j - a_i a_j t = a_i h_j + h_i a_j with h = g - a t / 2
    const Vector h = g - 0.5 * a.cwiseProduct(member * total);
    const auto tile = [&](Index row0, Index col0, MatrixRef out) {
      G.tile(row0, col0, out);
      const auto a_rows = a.segment(row0, out.rows()), h_rows = h.segment(row0, out.rows());
      for (Index j = 0; j < out.cols(); ++j) out.col(j) -= h[col0 + j] * a_rows + a[col0 + j] * h_rows;
    };
    return add_gram_gradient(context, of_groups(), rows, tile, hyper);
  }
  KernelRows both{Matrix(n + R, inputs_), {}, {}};
  both.inputs << rows.inputs, centre_.rows.inputs;
  if (rows.group.size() > 0) {
    both.group.resize(n + R);
    both.group << rows.group, centre_.rows.group;
  }
  Matrix T = Matrix::Zero(n + R, n);
  T.topRows(n).setIdentity();
  for (Index j = 0; j < n; ++j)
    for (Index r = 0; r < R; ++r)
      if (same_group(rows, j, centre_.rows, r)) T(n + r, j) = -centre_.weight[r];
  const Matrix whole = T * G.multiply(T.transpose());
  const auto tile = [&](Index row0, Index col0, MatrixRef out) {
    out = whole.block(row0, col0, out.rows(), out.cols());
  };
  add_gram_gradient(context, of_groups(), both, tile, hyper);
}

}  // namespace galvi
