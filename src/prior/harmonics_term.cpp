#include "prior/harmonics_term.h"

#include <cmath>
#include <stdexcept>

#include "numeric/dense.h"
#include "numeric/special_functions.h"
#include "prior/centre.h"

namespace galvi {

namespace {

/// visit(series, i, column, width): harmonic `first + i` of a series has `width` columns from this one on, the cosine
/// before the sine.
template <class Visit>
void for_waves(const std::vector<Harmonics>& all, const Visit& visit) {
  Index column = 0;
  for (std::size_t s = 0; s < all.size(); ++s)
    for (Index i = 0; i < all[s].variance.size(); ++i) {
      const Index width = all[s].first + i == 0 ? 1 : 2;
      visit(s, i, column, width);
      column += width;
    }
}

}  // namespace

HarmonicsTerm::HarmonicsTerm(const TermSpec& spec)
    : Term(spec.label),
      kernels_(make_kernels(spec.kernels)),
      bases_(kernels_.size()),
      centre_(normalised(spec.centre, spec.label, 1)),
      origin_(spec.waves.origin),
      groups_(spec.waves.groups) {
  if (kernels_.size() != 1 && static_cast<Index>(kernels_.size()) != groups_)
    throw std::invalid_argument("term " + label() + ": needs a kernel, or one for each group");
  if (groups_of(centre_) > groups_)
    throw std::invalid_argument("term " + label() + ": the rows of its mean have more groups than the term");
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    if (spec.inputs != 1 || !kernels_[k]->spectrum())
      throw std::invalid_argument("term " + label() + " is not a sum of cosines of one input");
    Index width = 0;
    for (const Harmonics& one : kernels_[k]->spectrum()->harmonics()) width += one.columns();
    if (k > 0 && width != width_)
      throw std::invalid_argument("term " + label() + ": the groups' kernels differ in their harmonics");
    width_ = width;
  }
  coefficient_mean_ = Vector::Zero(groups_ * width_);
  coefficient_variance_ = Vector::Ones(groups_ * width_);
}

void HarmonicsTerm::check(const TermRows& rows) const {
  check_width("inputs", rows.kernel.inputs.cols(), 1);
  if (groups_ > 1) check_groups(rows, groups_);
  if (centred()) check_unscaled(rows);
}

void HarmonicsTerm::update(const ConstVectorRef& hyper) {
  std::vector<double> periods;
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    kernels_[k]->update(hyper);
    bases_[k] = {kernels_[k]->spectrum()->harmonics(), Vector(width_)};
    for_waves(bases_[k].series, [&](std::size_t s, Index i, Index column, Index width) {
      bases_[k].sd.segment(column, width).setConstant(std::sqrt(bases_[k].series[s].variance[i]));
    });
    for (const Harmonics& one : bases_[k].series) periods.push_back(one.period);
  }
  if (!centred() || periods == periods_) return;
  periods_ = std::move(periods);
  means_ = means_by_period_ = Matrix::Zero(width_, groups_);
  Vector own(width_);
  for (Index r = 0; r < centre_.weight.size(); ++r) {
    const Index group = group_of(centre_.rows, r);
    const double x = centre_.rows.inputs(r, 0);
    waves(basis(group), x, own);
    means_.col(group) += centre_.weight[r] * own;
    waves_by_period(basis(group), x, own);
    means_by_period_.col(group) += centre_.weight[r] * own;
  }
}

// Multiples of an angle by turning: the error grows as their number.
void HarmonicsTerm::waves(const Basis& basis, double x, VectorRef out) const {
  double cosine = 1, sine = 0, c = 1, s = 0;
  for_waves(basis.series, [&](std::size_t at, Index i, Index column, Index width) {
    const Harmonics& own = basis.series[at];
    if (i == 0) {
      const double turns = (x - origin_) / own.period;
      const double angle = std::isfinite(turns) ? 2 * pi * (turns - std::floor(turns)) : 0;
      cosine = std::cos(angle);
      sine = std::sin(angle);
      c = std::cos(static_cast<double>(own.first) * angle);
      s = std::sin(static_cast<double>(own.first) * angle);
    } else {
      const double before = c;
      c = c * cosine - s * sine;
      s = s * cosine + before * sine;
    }
    out[column] = c;
    if (width == 2) out[column + 1] = s;
  });
}

// d cos(j a) / d period = j sin(j a) a / period with the whole angle a = 2 pi x / period
void HarmonicsTerm::waves_by_period(const Basis& basis, double x, VectorRef out) const {
  Vector own(width_);
  waves(basis, x, own);
  for_waves(basis.series, [&](std::size_t at, Index i, Index column, Index width) {
    const Harmonics& series = basis.series[at];
    const double rate =
        static_cast<double>(series.first + i) * 2 * pi * (x - origin_) / (series.period * series.period);
    out[column] = width == 2 ? rate * own[column + 1] : 0;
    if (width == 2) out[column + 1] = -rate * own[column];
  });
}

void HarmonicsTerm::fill(const TermRows& all, Index begin, MatrixRef W) const {
  W.setZero();
  if (left_out(all)) return;
  const KernelRows& rows = all.kernel;
  Vector own(width_);
  for (Index i = 0; i < W.rows(); ++i) {
    const Index n = begin + i, group = group_of_row(rows, n);
    waves(basis(group), rows.inputs(n, 0), own);
    if (centred()) own -= means_.col(group);
    own.array() *= basis(group).sd.array() * (rows.by.size() > 0 ? rows.by[n] : 1.0);
    W.row(i).segment(group * width_, width_) = own.transpose();
  }
}

// The sums: for each kernel, of each column <W, G>, with d bound / d variance = <W, G> / (2 variance); then of each
// column d bound / d period.
Index HarmonicsTerm::gradient_size() const { return static_cast<Index>(bases_.size()) * 2 * width_; }

void HarmonicsTerm::add_gradient(const TermRows& all, Index begin, const ConstMatrixRef& W, const ConstMatrixRef& G,
                                 const ConstVectorRef&, VectorRef sums) const {
  if (left_out(all)) return;
  const KernelRows& rows = all.kernel;
  Vector own(width_);
  for (Index i = 0; i < W.rows(); ++i) {
    const Index n = begin + i, group = group_of_row(rows, n);
    auto out = sums.segment(bases_.size() > 1 ? group * 2 * width_ : 0, 2 * width_);
    const auto g = G.row(i).segment(group * width_, width_).transpose();
    out.head(width_) += W.row(i).segment(group * width_, width_).transpose().cwiseProduct(g);
    waves_by_period(basis(group), rows.inputs(n, 0), own);
    if (centred()) own -= means_by_period_.col(group);
    own.array() *= basis(group).sd.array() * (rows.by.size() > 0 ? rows.by[n] : 1.0);
    out.tail(width_) += own.cwiseProduct(g);
  }
}

void HarmonicsTerm::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    const auto own = sums.segment(static_cast<Index>(k) * 2 * width_, 2 * width_);
    std::vector<Harmonics> by = bases_[k].series;
    for (Harmonics& one : by) {
      one.period = 0;
      one.variance.setZero();
    }
    for_waves(bases_[k].series, [&](std::size_t s, Index i, Index column, Index width) {
      const double variance = bases_[k].series[s].variance[i];
      if (variance > 0) by[s].variance[i] += own.segment(column, width).sum() / (2 * variance);
      by[s].period += own.segment(width_ + column, width).sum();
    });
    kernels_[k]->spectrum()->add_harmonics_gradient(by, hyper);
  }
}

// The same coefficients in other units, where the columns are the same waves.
bool HarmonicsTerm::recall(const Term& old, Matrix& B, Vector& shift, Matrix& left) const {
  const auto* before = dynamic_cast<const HarmonicsTerm*>(&old);
  if (!before || before->groups_ != groups_ || before->width_ != width_ || before->origin_ != origin_) return false;
  B = Matrix::Zero(columns(), columns());
  for (Index group = 0; group < groups_; ++group) {
    const Basis &now = basis(group), &then = before->basis(group);
    for (std::size_t s = 0; s < now.series.size(); ++s)
      if (now.series[s].period != then.series[s].period) return false;
    for (Index j = 0; j < width_; ++j)
      if (then.sd[j] > 0) B(group * width_ + j, group * width_ + j) = now.sd[j] / then.sd[j];
  }
  shift = Vector::Zero(columns());
  left = Matrix::Zero(columns(), columns());
  return true;
}

Matrix HarmonicsTerm::centre_columns() const {
  Matrix out = Matrix::Zero(columns(), groups_);
  for (Index group = 0; centred() && group < groups_; ++group)
    out.col(group).segment(group * width_, width_) = basis(group).sd.cwiseProduct(means_.col(group));
  return out;
}

// ---- as a covariance, W W' ----

Matrix HarmonicsTerm::columns_of(const TermRows& rows) const {
  Matrix W(rows.kernel.inputs.rows(), columns());
  fill(rows, 0, W);
  return W;
}

void HarmonicsTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  add_crossproduct(context, 1.0, columns_of(rows).transpose(), 1.0, K);
}

void HarmonicsTerm::add_variances(Context&, const TermRows& rows, VectorRef d) const {
  d += columns_of(rows).rowwise().squaredNorm();
}

void HarmonicsTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const {
  multiply(context, false, true, 1.0, columns_of(rows), columns_of(others), 1.0, K);
}

void HarmonicsTerm::add_covariance_gradient(Context&, const TermRows& rows, const Weights& G,
                                            VectorRef hyper) const {
  const Matrix W = columns_of(rows);
  Vector sums = Vector::Zero(gradient_size());
  add_gradient(rows, 0, W, 2 * G.multiply(W), Vector::Zero(W.rows()), sums);
  finish_gradient(sums, hyper);
}

}  // namespace galvi
