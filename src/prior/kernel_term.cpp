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

KernelRows rows_at(const KernelRows& rows, const std::vector<Index>& at) {
  const Index n = static_cast<Index>(at.size());
  KernelRows out{Matrix(n, rows.inputs.cols()), Vector(rows.by.size() > 0 ? n : 0),
                 Eigen::VectorXi(rows.group.size() > 0 ? n : 0)};
  for (Index i = 0; i < n; ++i) {
    out.inputs.row(i) = rows.inputs.row(at[i]);
    if (out.by.size() > 0) out.by[i] = rows.by[at[i]];
    if (out.group.size() > 0) out.group[i] = rows.group[at[i]];
  }
  return out;
}

// The sums of X's rows within groups, a row each, and back.
Matrix group_sums(const KernelRows& rows, const Matrix& X) {
  if (rows.group.size() == 0) return X.colwise().sum();
  Matrix out = Matrix::Zero(rows.group.maxCoeff(), X.cols());
  for (Index n = 0; n < X.rows(); ++n) out.row(group_of(rows, n)) += X.row(n);
  return out;
}

Matrix of_rows(const KernelRows& rows, const Matrix& sums) {
  Matrix out(rows.inputs.rows(), sums.cols());
  for (Index n = 0; n < out.rows(); ++n) out.row(n) = sums.row(group_of(rows, n));
  return out;
}

// The first row of each group; 0 for one without rows.
std::vector<Index> references_of(const KernelRows& rows) {
  if (rows.group.size() == 0) return {0};
  std::vector<Index> out(rows.group.maxCoeff());
  for (Index n = rows.group.size() - 1; n >= 0; --n) out[group_of(rows, n)] = n;
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

// A centred process is the same before and after f(z) of a reference row z in each group is subtracted, which leaves
//   k(x, y) - k(x, z) - k(z, y) + k(z, z) = R R';   (I - 1 a') R is the root that is returned.
// A process with a long lengthscale is hardly more than a large constant, of which no digits are lost that way.
LowRank KernelTerm::root(Context& context, const TermRows& all, Index most) const {
  const KernelRows& rows = all.kernel;
  if (centred() && rows.by.size() > 0) {
    LowRank out = root(context, without_left_out(all), most);
    const Index n = out.root.rows();
    out.root.conservativeResize(rows.by.size(), out.root.cols());
    out.root.bottomRows(rows.by.size() - n).setZero();
    return out;
  }
  const Index n = rows.inputs.rows();
  if (centred() && (n == 0 || !is_centre(rows))) return Term::root(context, all, most);
  Vector variance = Vector::Zero(n);
  add_diagonal(context, of_groups(), rows, variance);
  const auto covariances = [&](Index i) {
    Vector out = Vector::Zero(n);
    galvi::add_cross(context, of_groups(), rows, rows_at(rows, {i}), out);
    return out;
  };
  if (!centred())
    return low_rank_root(context, variance, [&](Index i, VectorRef out) { out = covariances(i); }, most);

  const std::vector<Index> references = references_of(rows);
  Vector to_reference = Vector::Zero(n);
  for (Index group = 0; group < static_cast<Index>(references.size()); ++group)
    if (const Index z = references[group]; group_of(rows, z) == group) to_reference += covariances(z);
  const auto at_reference = [&](Index i) { return to_reference[references[group_of(rows, i)]]; };
  for (Index i = 0; i < n; ++i) variance[i] = std::max(variance[i] - 2 * to_reference[i] + at_reference(i), 0.0);
  const auto column = [&](Index i, VectorRef out) {
    const double rest = to_reference[i] - at_reference(i);
    out = covariances(i);
    for (Index j = 0; j < n; ++j) out[j] = same_group(rows, i, rows, j) ? out[j] - to_reference[j] - rest : 0;
  };
  LowRank out = low_rank_root(context, variance, column, most);
  if (out.root.cols() == 0) return out;
  const Matrix m = of_rows(rows, group_sums(rows, centre_.weight.asDiagonal() * out.root));
  if (mean_.size() == 0) {
    Vector mean = to_reference + of_rows(rows, group_sums(rows, centre_.weight.cwiseProduct(to_reference)));
    mean += out.root.cwiseProduct(m).rowwise().sum();
    for (Index i = 0; i < n; ++i) mean[i] -= at_reference(i);
    set_means(std::move(mean));
  }
  out.root -= m;
  return out;
}

// R R' before centring is A K_pp A' with A = K_np K_pp^-1 = R L^-1, and with S = T G T' as above
//   <S, d(A K_pp A')> = 2 <S A, dK_np> - <A' S A, dK_pp> = <W, dK_np>,   T' A = R L^-1 with R after centring.
// Where K is the covariance beside a reference row, W has a column for that, and the row has a share of each column.
void KernelTerm::add_root_gradient(Context& context, const TermRows& all, const LowRank& R, const RootWeights& G,
                                   VectorRef hyper) const {
  if (R.pivots.empty()) return add_covariance_gradient(context, all, G.all, hyper);
  const bool padded = centred() && all.kernel.by.size() > 0;
  const TermRows own = padded ? without_left_out(all) : TermRows();
  const KernelRows& rows = padded ? own.kernel : all.kernel;
  const Index n = rows.inputs.rows(), rank = R.root.cols();
  // W = 2 G R L^-1 and L^-T R' G R L^-1, from their transposes
  Matrix half = G.product.topRows(n).transpose(), within = G.form;
  solve_lower_transposed(context, R.chol, half);
  solve_lower_transposed(context, R.chol, within);
  within.transposeInPlace();
  solve_lower_transposed(context, R.chol, within);
  Matrix W = 2 * half.transpose();
  if (centred()) W -= centre_.weight.asDiagonal() * of_rows(rows, group_sums(rows, W));
  for (Index p = 0; p < rank; ++p) W.row(R.pivots[p]) -= within.row(p);
  if (!centred()) return add_cross_gradient(context, of_groups(), rows, rows_at(rows, R.pivots), W, hyper);

  std::vector<Index> columns = R.pivots;
  const std::vector<Index> references = references_of(rows);
  columns.insert(columns.end(), references.begin(), references.end());
  W.conservativeResize(n, static_cast<Index>(columns.size()));
  W.rightCols(static_cast<Index>(references.size())).setZero();
  for (Index p = 0; p < rank; ++p) {
    const Index group = group_of(rows, R.pivots[p]), z = references[group];
    auto at_reference = W.col(rank + group);
    double total = 0;
    for (Index i = 0; i < n; ++i) {
      if (!same_group(rows, i, rows, z)) continue;
      total += W(i, p);
      at_reference[i] -= W(i, p);
    }
    at_reference[z] += total;
    W(z, p) -= total;
  }
  add_cross_gradient(context, of_groups(), rows, rows_at(rows, columns), W, hyper);
}

}  // namespace galvi
