#include "solver/field_stack.h"

#include <algorithm>

namespace galvi {

template <class F>
void FieldStack::for_pairs(const SparseRows& W, Index n, const F& f) const {
  std::size_t part = 0;
  for (SparseRows::InnerIterator a(W, n); a; ++a) {
    while (part + 1 < parts_.size() && a.col() >= parts_[part + 1].begin) ++part;
    const Index end = parts_[part].separable ? parts_[part].begin : a.col() + 1;
    for (SparseRows::InnerIterator b(W, n); b && b.col() < end; ++b) f(a.col(), b.col(), a.value() * b.value());
  }
}

FieldStack::FieldStack(const Prior& prior, const DesignRows& rows) : prior_(prior), design_(rows) {
  Index constraints = 0;
  for (Index t = 0; t < prior.size(); ++t)
    if (const Field* field = prior[t].field()) {
      parts_.push_back({field, t, size_, {}, nullptr, {}});
      if (prior[t].separable())
        parts_.back().separable = std::make_shared<SeparableForms>(prior[t], rows[t], size_);
      else
        parts_.back().rows = prior[t].field_design(rows[t]);
      size_ += field->size();
      constraints += field->constraints().cols();
    }
  constraints_ = Matrix::Zero(size_, constraints);
  pin_weights_.resize(constraints);
  std::vector<Eigen::Triplet<double>> pattern;
  Index column = 0;
  for (const Part& part : parts_) {
    const Field& field = *part.field;
    constraints_.block(part.begin, column, field.size(), field.constraints().cols()) = field.constraints();
    column += field.constraints().cols();
    for (const Index pin : field.pins()) pins_.push_back(part.begin + pin);
    for (Index j = 0; j < field.size(); ++j)
      for (SparseMatrix::InnerIterator r(field.pinned_precision(), j); r; ++r)
        pattern.emplace_back(part.begin + r.row(), part.begin + j, 0.0);
    if (part.separable) part.separable->add_pattern(pattern);
  }
  join_rows();
  for (Index n = 0; n < W_.rows(); ++n)
    for_pairs(W_, n, [&](Index i, Index j, double) { pattern.emplace_back(i, j, 0.0); });
  pattern_.resize(size_, size_);
  pattern_.setFromTriplets(pattern.begin(), pattern.end());

  for (Part& part : parts_) {
    const SparseMatrix& R = part.field->pinned_precision();
    part.positions.resize(R.nonZeros());
    Index e = 0;
    for (Index j = 0; j < part.field->size(); ++j)
      for (SparseMatrix::InnerIterator r(R, j); r; ++r)
        part.positions[e++] = position(part.begin + r.row(), part.begin + j);
  }
  add_pairs();
}

SparseRows FieldStack::rows_of(const Part& part) const {
  return part.separable ? part.separable->expanded() : part.rows;
}

// W_ = the parts' rows side by side.
void FieldStack::join_rows() {
  if (parts_.size() == 1) {
    W_ = rows_of(parts_[0]);
    return;
  }
  std::vector<SparseRows> rows;
  Index entries = 0;
  for (const Part& part : parts_) {
    rows.push_back(rows_of(part));
    rows.back().makeCompressed();
    entries += rows.back().nonZeros();
  }
  W_ = SparseRows(design_.size(), size_);
  W_.resizeNonZeros(entries);
  int at = 0;
  W_.outerIndexPtr()[0] = 0;
  for (Index n = 0; n < W_.rows(); ++n) {
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (SparseRows::InnerIterator w(rows[p], n); w; ++w, ++at) {
        W_.innerIndexPtr()[at] = static_cast<int>(parts_[p].begin + w.col());
        W_.valuePtr()[at] = w.value();
      }
    W_.outerIndexPtr()[n + 1] = at;
  }
}

void FieldStack::add_pairs() {
  pairs_.clear();
  pairs_end_.clear();
  for (Index n = 0; n < W_.rows(); ++n) {
    for_pairs(W_, n, [&](Index i, Index j, double weight) {
      pairs_.push_back({static_cast<int>(position(i, j)), i == j ? 1 : 2, weight});
    });
    pairs_end_.push_back(pairs_.size());
  }
}

const FieldStack::Part& FieldStack::part_of(Index t) const {
  return *std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.term == t; });
}

Index FieldStack::first_node(Index t) const { return part_of(t).begin; }

const SeparableForms* FieldStack::separable(Index t) const { return part_of(t).separable.get(); }

void FieldStack::refresh_rows() {
  bool moved = false;
  for (Part& part : parts_)
    if (prior_[part.term].moves_field_design()) {
      if (part.separable)
        part.separable->weigh();
      else
        part.rows = prior_[part.term].field_design(design_[part.term]);
      moved = true;
    }
  if (!moved) return;
  join_rows();
  add_pairs();
}

void FieldStack::refresh() {
  refresh_rows();
  base_ = Vector::Zero(pattern_.nonZeros());
  Index column = 0;
  for (const Part& part : parts_) {
    const double* values = part.field->pinned_precision().valuePtr();
    for (Index e = 0; e < part.positions.size(); ++e) base_[part.positions[e]] += values[e];
    const Vector& weights = part.field->pin_weights();
    pin_weights_.segment(column, weights.size()) = weights;
    column += weights.size();
  }
}

SparseRows FieldStack::design(const DesignRows& rows, Index t) const {
  std::vector<Eigen::Triplet<double>> entries;
  for (const Part& part : parts_) {
    if (t >= 0 && part.term != t) continue;
    const SparseRows W = prior_[part.term].field_design(rows[part.term]);
    for (Index n = 0; n < W.rows(); ++n)
      for (SparseRows::InnerIterator w(W, n); w; ++w)
        entries.emplace_back(n, part.begin + w.col(), w.value());
  }
  SparseRows out(rows.size(), size_);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

Vector FieldStack::precision(Context& context, const Vector& lambda) const {
  Vector values = base_;
  std::size_t pair = 0;
  for (Index n = 0; n < W_.rows(); ++n)
    for (; pair < pairs_end_[n]; ++pair) values[pairs_[pair].position] += lambda[n] * pairs_[pair].weight;
  for (const Part& part : parts_)
    if (part.separable) part.separable->add_precision(context, pattern_, lambda, values);
  return values;
}

SparseMatrix FieldStack::precision(Context& context, const Vector& lambda, const SparseRows& W,
                                   const std::vector<Index>& more) const {
  const Vector values = precision(context, lambda);
  std::vector<Eigen::Triplet<double>> entries;
  Index e = 0;
  for (Index j = 0; j < size_; ++j)
    for (SparseMatrix::InnerIterator entry(pattern_, j); entry; ++entry)
      entries.emplace_back(entry.row(), j, values[e++]);
  for (const Index n : more)
    for (SparseRows::InnerIterator a(W, n); a; ++a)
      for (SparseRows::InnerIterator b(W, n); b && b.col() <= a.col(); ++b)
        if (position(a.col(), b.col()) < 0) entries.emplace_back(a.col(), b.col(), 0.0);
  SparseMatrix out(size_, size_);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

Vector FieldStack::quadratic_forms(Context& context, const ConstVectorRef& values) const {
  Vector out(W_.rows());
  std::size_t pair = 0;
  for (Index n = 0; n < W_.rows(); ++n) {
    double sum = 0;
    for (; pair < pairs_end_[n]; ++pair)
      sum += pairs_[pair].multiplicity * pairs_[pair].weight * values[pairs_[pair].position];
    out[n] = sum;
  }
  for (const Part& part : parts_)
    if (part.separable) part.separable->add_quadratic_forms(context, pattern_, values, out);
  return out;
}

Vector FieldStack::quadratic_forms(Context& context, const ConstVectorRef& values, const DesignRows& others, Index t,
                                   const SparseRows& W, std::vector<Index>& unknown) const {
  Vector out = Vector::Zero(W.rows());
  for (Index n = 0; n < W.rows(); ++n) {
    bool known = true;
    for_pairs(W, n, [&](Index i, Index j, double weight) {
      const Index at = position(i, j);
      known = known && at >= 0;
      if (known) out[n] += (i == j ? 1 : 2) * weight * values[at];
    });
    if (!known) unknown.push_back(n);
  }
  for (const Part& part : parts_)
    if (part.separable && (t < 0 || part.term == t)) {
      SeparableForms forms(prior_[part.term], others[part.term], part.begin);
      forms.weigh();
      forms.add_quadratic_forms(context, pattern_, values, out);
    }
  return out;
}

double FieldStack::size_of_terms(const Vector& z) const {
  double sum = 0;
  for (Index j = 0; j < size_; ++j) sum += base_[pattern_.outerIndexPtr()[j]] * z[j] * z[j];
  return 2 * sum;
}

Vector FieldStack::precision_times(const Vector& z) const {
  Vector out(size_);
  for (const Part& part : parts_)
    out.segment(part.begin, part.field->size()) =
        part.field->precision_times(z.segment(part.begin, part.field->size()));
  return out;
}

Matrix FieldStack::covariance_times(Context& context, const ConstMatrixRef& X) const {
  Matrix out(size_, X.cols());
  for (const Part& part : parts_)
    out.middleRows(part.begin, part.field->size()) =
        part.field->covariance_times(context, X.middleRows(part.begin, part.field->size()));
  return out;
}

Matrix FieldStack::whitened(Context& context, const ConstMatrixRef& X) const {
  Matrix out(size_, X.cols());
  for (const Part& part : parts_)
    out.middleRows(part.begin, part.field->size()) =
        part.field->whitened(context, X.middleRows(part.begin, part.field->size()));
  return out;
}

double FieldStack::log_det(Context& context) const {
  double out = 0;
  for (const Part& part : parts_) out += part.field->log_det(context);
  return out;
}

double FieldStack::jitter() const {
  double out = 0;
  for (const Part& part : parts_) out = std::max(out, part.field->jitter());
  return out;
}

Vector FieldStack::row_variances(Context& context) const {
  Vector out = Vector::Zero(W_.rows());
  for (const Part& part : parts_) {
    if (!part.separable) {
      out += part.field->row_variances(context, part.rows);
      continue;
    }
    Vector rest = Vector::Zero(W_.rows());
    prior_[part.term].add_extra_variances(design_[part.term], 0, Matrix(), rest);
    prior_[part.term].add_variances(context, design_[part.term], out);
    out -= rest;
  }
  return out;
}

void FieldStack::add_gradient(Context& context, const Entry& entry, VectorRef hyper) const {
  for (const Part& part : parts_) {
    Vector G(part.positions.size());
    Index e = 0;
    for (Index j = 0; j < part.field->size(); ++j)
      for (SparseMatrix::InnerIterator r(part.field->pinned_precision(), j); r; ++r, ++e)
        G[e] = entry(part.begin + r.row(), part.begin + j, part.positions[e]);
    part.field->add_gradient(context, G, 0.5, hyper);
  }
}

}  // namespace galvi
