#include "prior/prior.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "prior/collinear.h"

namespace galvi {

Index TermRows::size() const {
  Index n = 0;
  for_parts(*this, [&](const char*, const auto& part) { n = std::max<Index>(n, part.rows()); });
  return n;
}

Index DesignRows::size() const { return terms.empty() ? 0 : terms[0].size(); }

DesignRows DesignRows::slice(Index begin, Index count) const {
  DesignRows out;
  for (const TermRows& rows : terms)
    out.terms.push_back(rows.map(
        [&](const auto& part) { return part.rows() > 0 ? part.middleRows(begin, count).eval() : part; }));
  return out;
}

Prior::Prior(std::vector<std::unique_ptr<Term>> terms) : terms_(std::move(terms)) {
  for (const auto& term : terms_) {
    first_column_.push_back(columns_);
    columns_ += term->columns();
    fixed_columns_ = fixed_columns_ && (term->columns() == 0 || term->fixed_columns());
  }
}

void Prior::update(const ConstVectorRef& hyper) {
  coefficient_mean_.resize(columns_);
  scale_.resize(columns_);
  for (Index t = 0; t < size(); ++t) {
    terms_[t]->update(hyper);
    const Index q = terms_[t]->columns();
    if (q == 0) continue;
    coefficient_mean_.segment(first_column_[t], q) = terms_[t]->coefficient_mean();
    scale_.segment(first_column_[t], q) = terms_[t]->coefficient_variance().cwiseSqrt();
  }
  const auto flat = scale_.array().isInf();
  null_dimension_ = flat.count();
  precision_ = flat.select(Vector::Zero(columns_), Vector::Ones(columns_));
  scale_ = (precision_.array() == 0).select(Vector::Ones(columns_), scale_);
}

void Prior::hold_basis(bool held) {
  for (auto& term : terms_) term->hold_basis(held);
}

bool Prior::centred() const {
  return std::any_of(begin(), end(), [](const auto& term) { return term->centred(); });
}

Vector Prior::mean(const DesignRows& rows) const {
  Vector mean = Vector::Zero(rows.size());
  add_mean(rows, 0, mean);
  return mean;
}

void Prior::add_mean(const DesignRows& rows, Index begin, VectorRef mean) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_prior_mean(rows[t], begin, mean);
}

void Prior::add_mean_gradient(const DesignRows& rows, const ConstVectorRef& g, VectorRef hyper) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_prior_mean_gradient(rows[t], g, hyper);
}

void Prior::add_covariance(Context& context, const DesignRows& rows, MatrixRef K) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_covariance(context, rows[t], K);
}

void Prior::add_variances(Context& context, const DesignRows& rows, VectorRef d) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_variances(context, rows[t], d);
}

void Prior::add_cross(Context& context, const DesignRows& rows, const DesignRows& others, MatrixRef K) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_cross(context, rows[t], others[t], K);
}

void Prior::add_covariance_gradient(Context& context, const DesignRows& rows, const Weights& G,
                                    VectorRef hyper) const {
  for (Index t = 0; t < size(); ++t) terms_[t]->add_covariance_gradient(context, rows[t], G, hyper);
}

std::vector<LowRank> Prior::roots(Context& context, const DesignRows& rows, Index most) const {
  std::vector<LowRank> out;
  for (Index t = 0; t < size(); ++t) {
    out.push_back(terms_[t]->root(context, rows[t], most));
    most -= out.back().root.cols();
    if (out.back().root.cols() == 0) return {};
  }
  return out;
}

void Prior::add_root_gradient(Context& context, const DesignRows& rows, const std::vector<LowRank>& roots,
                              const RootWeights& G, VectorRef hyper) const {
  for (Index t = 0, at = 0; t < size(); at += roots[t++].root.cols()) {
    const Index rank = roots[t].root.cols();
    const RootWeights own{G.all, G.product.middleCols(at, rank), G.form.block(at, at, rank, rank)};
    terms_[t]->add_root_gradient(context, rows[t], roots[t], own, hyper);
  }
}

bool Prior::finite() const {
  return std::all_of(begin(), end(), [](const auto& term) { return term->columns() > 0 && !term->field(); });
}

void Prior::fill(const DesignRows& rows, Index begin, MatrixRef W) const {
  for (Index t = 0; t < size(); ++t)
    if (const Index q = terms_[t]->columns())
      terms_[t]->fill(rows[t], begin, W.middleCols(first_column_[t], q));
}

void Prior::fill_fixed(const DesignRows& rows, Index begin, MatrixRef X) const {
  for (Index t = 0; t < size(); ++t)
    if (const Index q = terms_[t]->columns())
      X.middleCols(first_column_[t], q) = rows[t].W.middleRows(begin, X.rows());
}

void Prior::whiten(MatrixRef X) const {
  for (Index t = 0; t < size(); ++t)
    if (const Index q = terms_[t]->columns()) terms_[t]->whiten(X.middleCols(first_column_[t], q));
}

bool Prior::has_extra_variances() const {
  return std::any_of(begin(), end(), [](const auto& term) { return term->has_extra_variances(); });
}

void Prior::add_extra_variances(const DesignRows& rows, Index begin, const ConstMatrixRef& W,
                                VectorRef c) const {
  for (Index t = 0; t < size(); ++t)
    terms_[t]->add_extra_variances(rows[t], begin, W.middleCols(first_column_[t], terms_[t]->columns()), c);
}

void Prior::add_column_variances(const ConstMatrixRef& W, VectorRef v) const {
  for (Index i = 0; i < W.rows(); ++i) {
    double flat = 0, proper = 0;
    for (Index j = 0; j < columns_; ++j) (precision_[j] == 0 ? flat : proper) += W(i, j) * W(i, j);
    v[i] += flat > 0 ? std::numeric_limits<double>::infinity() : proper;
  }
}

void Prior::check_collinear(const ConstVectorRef& diagonal, const ConstVectorRef& variance) const {
  // 1 / (1 - R^2) of a column regressed on the others, which is unaffected by its flat prior
  constexpr double collinear = 1e13;
  for (Index j = 0; j < columns_; ++j)
    if ((1 - precision_[j]) * diagonal[j] * variance[j] > collinear) throw_collinear();
}

void Prior::throw_collinear() {
  throw CollinearColumns(
      "columns with a flat prior, normal(0, Inf), are collinear or more than the rows: give them a finite sd "
      "in `prior`");
}

Index Prior::gradient_size() const {
  Index size = 0;
  for (const auto& term : terms_) size += term->gradient_size();
  return size;
}

void Prior::add_gradient(const DesignRows& rows, Index begin, const ConstMatrixRef& W,
                         const ConstMatrixRef& G, const ConstVectorRef& g, VectorRef sums) const {
  for (Index t = 0, at = 0; t < size(); at += terms_[t++]->gradient_size()) {
    const Index q = terms_[t]->columns(), first = first_column_[t];
    if (q > 0)
      terms_[t]->add_gradient(rows[t], begin, W.middleCols(first, q), G.middleCols(first, q), g,
                              sums.segment(at, terms_[t]->gradient_size()));
  }
}

void Prior::finish_gradient(const ConstVectorRef& sums, VectorRef hyper) const {
  for (Index t = 0, at = 0; t < size(); at += terms_[t++]->gradient_size())
    if (terms_[t]->columns() > 0)
      terms_[t]->finish_gradient(sums.segment(at, terms_[t]->gradient_size()), hyper);
}

void Prior::recall(const Prior& old, Matrix& B, Vector& shift, Matrix& left) const {
  bool same = old.size() == size();
  B = Matrix::Zero(old.columns(), columns());
  shift = Vector::Zero(old.columns());
  left = Matrix::Zero(old.columns(), old.columns());
  for (Index t = 0; same && t < size(); ++t) {
    Matrix own, own_left;
    Vector own_shift;
    same = terms_[t]->recall(old[t], own, own_shift, own_left);
    if (!same) break;
    B.block(old.first_column(t), first_column_[t], own.rows(), own.cols()) = own;
    shift.segment(old.first_column(t), own.rows()) = own_shift;
    left.block(old.first_column(t), old.first_column(t), own.rows(), own.rows()) = own_left;
  }
  if (!same) throw std::invalid_argument("the model has other terms than the one that it goes on from");
  for (Index t = 0; t < size(); ++t) recall_level(old, t, B, left);
}

// A coefficient beta = gamma + v w'u beside a centred process has the mean w'u of the process itself, beside which it
// were gamma. That is the same before and after, and u_old = B u + e:
//   beta_old = beta + v (w_old'(B u + e) - w'u).
void Prior::recall_level(const Prior& old, Index t, Matrix& B, Matrix& left) const {
  const CentreSpec* centre = terms_[t]->centre();
  if (!terms_[t]->centred() || !old[t].centred() || centre->level.size() == 0) return;
  const Index at = centre->level_in;
  if (at < 0 || at >= size() || old[at].columns() != centre->level.rows())
    throw std::invalid_argument("term " + terms_[t]->label() + ": no term has its means");
  const Index rows = old.first_column(at), q = old[at].columns();
  const auto scale = old.scale().segment(rows, q).array();
  const Vector whitening = (scale > 0).select(scale.inverse(), 0.0);
  const Matrix v = whitening.asDiagonal() * centre->level;  // of whitened beta
  const Matrix w = terms_[t]->centre_columns(), w_old = old[t].centre_columns();
  const Index own = old.first_column(t), own_q = old[t].columns();
  const Matrix S = v * w_old.transpose();
  auto from = B.block(rows, first_column(t), q, terms_[t]->columns());
  from += S * B.block(own, first_column(t), own_q, from.cols()) - v * w.transpose();
  const Matrix open = S * left.block(own, own, own_q, own_q);
  left.block(rows, own, q, own_q) += open;
  left.block(own, rows, own_q, q) += open.transpose();
  left.block(rows, rows, q, q) += open * S.transpose();
}

}  // namespace galvi
