#include "prior/field.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace galvi {

namespace {

// The union of the parts' lower triangles and the diagonal, with all values one.
SparseMatrix union_pattern(const std::vector<Triplets>& parts) {
  const Index L = parts.empty() ? 0 : parts[0].rows;
  std::vector<Eigen::Triplet<double>> entries;
  for (const Triplets& part : parts)
    if (part.rows != L || part.columns != L)
      throw std::invalid_argument("the parts of a field's precision differ in size");
  for (const Triplets& part : parts) entries.insert(entries.end(), part.entries.begin(), part.entries.end());
  for (Index i = 0; i < L; ++i) entries.emplace_back(i, i, 1.0);
  SparseMatrix out(L, L);
  out.setFromTriplets(entries.begin(), entries.end(), [](double, double) { return 1.0; });
  return out;
}

// The number of each node's connected component.
std::vector<Index> components(const SparseMatrix& lower) {
  std::vector<Index> root(lower.cols());
  std::iota(root.begin(), root.end(), Index{0});
  const auto find = [&](Index i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (Index j = 0; j < lower.cols(); ++j)
    for (SparseMatrix::InnerIterator entry(lower, j); entry; ++entry) root[find(entry.row())] = find(j);
  for (Index i = 0; i < lower.cols(); ++i) root[i] = find(i);
  return root;
}

}  // namespace

// Rows have few nodes: their entries are put in order one by one, and those of one node become one.
SparseRows node_design(const TermRows& rows, Index L) {
  SparseRows W(rows.node.rows(), L);
  W.resizeNonZeros(rows.node.size());
  int* const node_of = W.innerIndexPtr();
  double* const weight_of = W.valuePtr();
  int end = 0;
  for (Index n = 0; n < rows.node.rows(); ++n) {
    const int begin = end;
    for (Index h = 0; h < rows.node.cols(); ++h) {
      const int node = static_cast<int>(rows.node(n, h));
      if (node >= L) throw std::invalid_argument("a row is at a node that its field does not have");
      if (node < 0) continue;
      int at = end;
      while (at > begin && node_of[at - 1] > node) --at;
      if (at > begin && node_of[at - 1] == node) {
        weight_of[at - 1] += rows.node_weight(n, h);
        continue;
      }
      std::move_backward(node_of + at, node_of + end, node_of + end + 1);
      std::move_backward(weight_of + at, weight_of + end, weight_of + end + 1);
      node_of[at] = node;
      weight_of[at] = rows.node_weight(n, h);
      ++end;
    }
    W.outerIndexPtr()[n + 1] = end;
  }
  W.resizeNonZeros(end);
  return W;
}

Index position(const SparseMatrix& lower, Index i, Index j) {
  if (i < j) std::swap(i, j);
  const int* begin = lower.innerIndexPtr() + lower.outerIndexPtr()[j];
  const int* end = lower.innerIndexPtr() + lower.outerIndexPtr()[j + 1];
  const int* found = std::lower_bound(begin, end, static_cast<int>(i));
  return found != end && *found == i ? found - lower.innerIndexPtr() : -1;
}

// Whether each node is in one part, and no constraint involves two parts.
void MarkovField::find_scales(const FieldSpec& spec) {
  if (!coefficients_.one_each()) return;
  constexpr Index none = -1;
  const std::size_t parts = spec.precision.size();
  part_of_.assign(size(), parts == 1 ? 0 : none);
  for (std::size_t p = 0; p < parts && parts > 1; ++p)
    for (const auto& entry : spec.precision[p].entries)
      for (const Index node : {static_cast<Index>(entry.row()), static_cast<Index>(entry.col())}) {
        if (part_of_[node] != none && part_of_[node] != static_cast<Index>(p))
          throw std::invalid_argument("copies of a field share a node");
        part_of_[node] = static_cast<Index>(p);
      }
  rank_ = Vector::Zero(static_cast<Index>(parts));
  for (const Index part : part_of_) {
    if (part == none) throw std::invalid_argument("a node of a field is in none of its copies");
    rank_[part] += 1;
  }
  for (const Index pin : pins_) rank_[part_of_[pin]] -= 1;
}

Field::Field(SparseMatrix pattern, std::vector<Index> pins)
    : pins_(std::move(pins)),
      constraints_(Matrix::Zero(pattern.rows(), static_cast<Index>(pins_.size()))),
      diagonal_(pattern.rows()),
      component_(components(pattern)),
      precision_(std::move(pattern)) {
  for (Index j = 0; j < size(); ++j) diagonal_[j] = precision_.outerIndexPtr()[j];
  for (const Index pin : pins_)
    if (pin < 0 || pin >= size()) throw std::invalid_argument("a field is pinned at a node that it does not have");
}

MarkovField::MarkovField(const FieldSpec& spec)
    : Field(union_pattern(spec.precision), spec.pins), model_(spec.model), coefficients_(spec) {
  if (coefficients_.count() != static_cast<Index>(spec.precision.size()))
    throw std::invalid_argument("field model \"" + model_ + "\" has another number of parts");
  const Index L = this->size(), size = precision_.nonZeros();
  std::vector<Eigen::Triplet<double>> values;
  for (std::size_t p = 0; p < spec.precision.size(); ++p)
    for (const auto& entry : spec.precision[p].entries) {
      if (entry.row() < entry.col())
        throw std::invalid_argument("a field's precision has an entry above its diagonal");
      values.emplace_back(position(precision_, entry.row(), entry.col()), p, entry.value());
    }
  parts_.resize(size, static_cast<Index>(spec.precision.size()));
  parts_.setFromTriplets(values.begin(), values.end());
  multiplicity_ = Vector::Constant(size, 2);
  for (Index j = 0; j < L; ++j) multiplicity_[diagonal_[j]] = 1;

  const Index c = static_cast<Index>(pins_.size());
  if (spec.constraints.columns != c || (c > 0 && spec.constraints.rows != L))
    throw std::invalid_argument("a field has another number of pins than constraints");
  for (const auto& entry : spec.constraints.entries) constraints_(entry.row(), entry.col()) += entry.value();
  find_scales(spec);
}

void MarkovField::update(const ConstVectorRef& hyper) {
  const Vector before = coefficients_.values();
  coefficients_.update(hyper);
  const Vector& coefficient = coefficients_.values();
  // with the same numbers, the factor and the inverse stay as they are
  const bool moved = unit_.size() == 0 || (!scaled() && coefficient != before);
  if (moved) {
    unit_ = parts_ * (scaled() ? Vector::Ones(parts_.cols()) : coefficient);
    unit_pins_.resize(static_cast<Index>(pins_.size()));
    for (std::size_t j = 0; j < pins_.size(); ++j) unit_pins_[j] = unit_[diagonal_[pins_[j]]];
    for (std::size_t j = 0; j < pins_.size(); ++j) unit_[diagonal_[pins_[j]]] += unit_pins_[j];
    factorised_ = covariances_known_ = false;
  }
  scale_ = Vector::Ones(size());
  if (scaled())
    for (Index j = 0; j < size(); ++j) scale_[j] = coefficient[part_of_[j]];
  pin_weights_ = unit_pins_;
  for (std::size_t j = 0; j < pins_.size(); ++j) pin_weights_[j] *= scale_[pins_[j]];
  for (Index j = 0; j < size(); ++j)
    for (int e = precision_.outerIndexPtr()[j]; e < precision_.outerIndexPtr()[j + 1]; ++e)
      precision_.valuePtr()[e] = scale_[j] * unit_[e];
}

void MarkovField::factorise(Context& context) const {
  if (factorised_) return;
  if (!factor_) factor_.emplace(precision_);
  if (!(scale_.minCoeff() > 0) || !factor_->factorise(context, unit_))
    throw std::domain_error("the precision of a " + model_ +
                            " field is not positive definite at its hyperparameters");
  const Index c = constraints_.cols();
  shift_ = Matrix::Zero(size(), c);
  for (Index j = 0; j < c; ++j) shift_(pins_[j], j) = unit_pins_[j];
  factor_->solve(context, shift_);  // N
  log_det_ = factor_->log_det();
  if (c > 0) {
    const Eigen::PartialPivLU<Matrix> gauge(shift_.transpose() * constraints_);
    log_det_ += 2 * gauge.matrixLU().diagonal().cwiseAbs().array().log().sum();
    shift_ = gauge.solve(shift_.transpose()).transpose();
  }
  factorised_ = true;
}

Vector Field::precision_times(const Vector& z) const {
  Vector out = precision_.selfadjointView<Eigen::Lower>() * z;
  for (std::size_t j = 0; j < pins_.size(); ++j) out[pins_[j]] -= pin_weights_[j] * z[pins_[j]];
  return out;
}

Matrix MarkovField::gauge_transposed(const ConstMatrixRef& X) const {
  return X - constraints_ * (shift_.transpose() * X);
}

Matrix MarkovField::covariance_times(Context& context, const ConstMatrixRef& X) const {
  factorise(context);
  Matrix out = gauge_transposed(X);
  factor_->solve(context, out);
  out -= shift_ * (constraints_.transpose() * out);
  return scale_.cwiseInverse().asDiagonal() * out;
}

Matrix MarkovField::whitened(Context& context, const ConstMatrixRef& X) const {
  factorise(context);
  Matrix out = scale_.cwiseSqrt().cwiseInverse().asDiagonal() * gauge_transposed(X);
  factor_->solve_lower(context, out);
  return out;
}

double MarkovField::log_det(Context& context) const {
  factorise(context);
  return log_det_ + scale_.array().log().sum();
}

// P R^-1 P' = R^-1 - S U' - U S' + S (B'U) S' with S = N (B'N)^-1 and U = R^-1 B
Vector MarkovField::covariances(Context& context) const {
  factorise(context);
  if (!covariances_known_) {
    const SparseMatrix inverse = factor_->selected_inverse(context);
    covariances_ = Eigen::Map<const Vector>(inverse.valuePtr(), inverse.nonZeros());
    if (!pins_.empty()) {
      Matrix U = constraints_;
      factor_->solve(context, U);
      U -= 0.5 * shift_ * (constraints_.transpose() * U);
      // one column per node, for products of single nodes
      const Matrix by_node = U.transpose(), shift = shift_.transpose();
      for (Index j = 0; j < size(); ++j)
        for (int e = precision_.outerIndexPtr()[j]; e < precision_.outerIndexPtr()[j + 1]; ++e) {
          const Index i = precision_.innerIndexPtr()[e];
          covariances_[e] -= shift.col(i).dot(by_node.col(j)) + by_node.col(i).dot(shift.col(j));
        }
    }
    covariances_known_ = true;
  }
  Vector out = covariances_;
  for (Index j = 0; j < size(); ++j)
    for (int e = precision_.outerIndexPtr()[j]; e < precision_.outerIndexPtr()[j + 1]; ++e) out[e] /= scale_[j];
  return out;
}

Vector Field::variances(Context& context) const {
  const Vector all = covariances(context);
  Vector out(size());
  for (Index j = 0; j < size(); ++j) out[j] = all[diagonal_[j]];
  return out;
}

// A row usually has one node, or nodes that are neighbours on the pattern or independent; else w' Q^- w needs
// a solve.
Vector Field::row_variances(Context& context, const SparseRows& W) const {
  const Vector all = covariances(context);
  Vector out = Vector::Zero(W.rows());
  for (Index n = 0; n < W.rows(); ++n) {
    bool known = true;
    for (SparseRows::InnerIterator a(W, n); a; ++a)
      for (SparseRows::InnerIterator b(W, n); b && b.col() <= a.col(); ++b) {
        const Index at = position(precision_, a.col(), b.col());
        if (at >= 0) out[n] += (a.col() == b.col() ? 1 : 2) * a.value() * b.value() * all[at];
        known = known && (at >= 0 || component_[a.col()] != component_[b.col()]);
      }
    if (known) continue;
    Matrix w = Matrix::Zero(size(), 1);
    for (SparseRows::InnerIterator a(W, n); a; ++a) w(a.col(), 0) = a.value();
    out[n] = whitened(context, w).squaredNorm();
  }
  return out;
}

void MarkovField::add_parts_gradient(const Vector& G, VectorRef hyper) const {
  coefficients_.chain(parts_.transpose() * G.cwiseProduct(multiplicity_), hyper);
}

void MarkovField::add_gradient_of_scales(const Vector& with_Q, VectorRef hyper) const {
  Vector sums = Vector::Zero(parts_.cols());
  for (Index j = 0; j < size(); ++j) sums[part_of_[j]] += with_Q[j];
  coefficients_.chain(sums.cwiseQuotient(coefficients_.values()), hyper);
}

// d log|Q| = tr(Q^- dQ), and tr(Q^- Q) is the rank
void MarkovField::add_gradient(Context& context, const Vector& G, double share, VectorRef hyper) const {
  add_parts_gradient(G, hyper);
  if (share == 0) return;
  if (scaled())
    coefficients_.chain(share * rank_.cwiseQuotient(coefficients_.values()), hyper);
  else
    add_parts_gradient(share * covariances(context), hyper);
}

}  // namespace galvi
