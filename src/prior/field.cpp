#include "prior/field.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace galvi {

/// The coefficients of the parts and their derivatives (part x hyperparameter).
struct Mixture {
  Vector coefficient;
  Matrix slope;
};

namespace {

Mixture scaled(const Vector& h) {
  const double v = h[0];
  Mixture out{Vector(1), Matrix(1, 1)};
  out.coefficient << 1 / v;
  out.slope << -1 / (v * v);
  return out;
}

// D - dependence A
Mixture proper(const Vector& h) {
  const double v = h[0], d = h[1];
  Mixture out{Vector(2), Matrix(2, 2)};
  out.coefficient << 1 / v, d / v;
  out.slope << -1 / (v * v), 0,  //
      -d / (v * v), 1 / v;
  return out;
}

// unstructured, then structured nodes
Mixture bym2(const Vector& h) {
  const double v = h[0], m = h[1];
  Mixture out{Vector(2), Matrix(2, 2)};
  out.coefficient << 1 / (v * (1 - m)), 1 / (v * m);
  out.slope << -1 / (v * v * (1 - m)), 1 / (v * (1 - m) * (1 - m)),  //
      -1 / (v * v * m), -1 / (v * m * m);
  return out;
}

// variance: marginal. Parts: ones, ones away from the ends, minus one between neighbours.
Mixture ar1(const Vector& h) {
  const double v = h[0], r = h[1], s = 1 - r * r, a = 1 / (v * s), da = 2 * r * a / s;
  Mixture out{Vector(3), Matrix(3, 2)};
  out.coefficient << a, a * r * r, a * r;
  out.slope << -a / v, da,  //
      -a * r * r / v, da * r * r + 2 * a * r,  //
      -a * r / v, da * r + a;
  return out;
}

// A Matern field of smoothness 1 in the plane, by finite elements (Lindgren, Rue and Lindstrom 2011):
// Q = tau^2 (kappa^4 C + 2 kappa^2 G + G C^-1 G), range = sqrt(8) / kappa, sd^2 = 1 / (4 pi kappa^2 tau^2).
Mixture spde(const Vector& h) {
  const double range = h[0], sd = h[1], kappa2 = 8 / (range * range), unit = 1 / (4 * M_PI * sd * sd);
  Mixture out{Vector(3), Matrix(3, 2)};
  out.coefficient << unit * kappa2, 2 * unit, unit / kappa2;
  out.slope << -2 * unit * kappa2 / range, 0,  //
      0, 0,  //
      2 * unit / kappa2 / range, 0;
  out.slope.col(1) = -2 / sd * out.coefficient;
  return out;
}

// The union of the parts' lower triangles with all of the diagonal, all values one.
SparseMatrix union_pattern(const std::vector<Triplets>& parts, Index L) {
  std::vector<Eigen::Triplet<double>> entries;
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

struct FieldModel {
  std::string name;
  std::vector<FieldParameter> hyper;
  Index parts;
  Mixture (*mix)(const Vector& hyper);
};

namespace {

const std::vector<FieldModel>& models() {
  static const FieldParameter variance{"variance", "log", 1e-6, 1e7, true};
  static const std::vector<FieldModel> table = {
      {"iid", {variance}, 1, scaled},
      {"besag", {variance}, 1, scaled},
      {"rw1", {variance}, 1, scaled},
      {"rw2", {variance}, 1, scaled},
      {"proper", {variance, {"dependence", "logit", 0.001, 0.999}}, 2, proper},
      {"bym2", {variance, {"mixing", "logit", 0.001, 0.999}}, 2, bym2},
      {"ar1", {variance, {"correlation", "atanh", -0.999, 0.999}}, 3, ar1},
      {"spde", {{"range", "log", 1e-3, 1e2, true}, {"sd", "log", 1e-3, 3e3, true}}, 3, spde},
  };
  return table;
}

const FieldModel& find_model(const std::string& name) {
  for (const FieldModel& model : models())
    if (model.name == name) return model;
  throw std::invalid_argument("unknown field model \"" + name + "\"");
}

}  // namespace

std::vector<std::pair<std::string, std::vector<FieldParameter>>> field_facts() {
  std::vector<std::pair<std::string, std::vector<FieldParameter>>> out;
  for (const FieldModel& model : models()) out.emplace_back(model.name, model.hyper);
  return out;
}

SparseRows node_design(const TermRows& rows, Index L) {
  std::vector<Eigen::Triplet<double>> entries;
  for (Index n = 0; n < rows.node.rows(); ++n)
    for (Index h = 0; h < rows.node.cols(); ++h) {
      const Index node = rows.node(n, h);
      if (node >= L) throw std::invalid_argument("a row is at a node that its field does not have");
      if (node >= 0) entries.emplace_back(n, node, rows.node_weight(n, h));
    }
  SparseRows W(rows.node.rows(), L);
  W.setFromTriplets(entries.begin(), entries.end());
  return W;
}

Index position(const SparseMatrix& lower, Index i, Index j) {
  if (i < j) std::swap(i, j);
  const int* begin = lower.innerIndexPtr() + lower.outerIndexPtr()[j];
  const int* end = lower.innerIndexPtr() + lower.outerIndexPtr()[j + 1];
  const int* found = std::lower_bound(begin, end, static_cast<int>(i));
  return found != end && *found == i ? found - lower.innerIndexPtr() : -1;
}

Field::Field(const FieldSpec& spec) : model_(find_model(spec.model)), pins_(spec.pins) {
  for (const FieldParameter& parameter : model_.hyper) {
    const auto found = spec.hyper.find(parameter.name);
    if (found == spec.hyper.end() || found->second.size() != 1)
      throw std::invalid_argument("field model \"" + spec.model + "\" needs one hyperparameter " +
                                  parameter.name);
    hyper_.push_back(found->second[0]);
  }
  if (static_cast<Index>(spec.precision.size()) != model_.parts)
    throw std::invalid_argument("field model \"" + spec.model + "\" has another number of parts");
  const Index L = spec.precision[0].rows;
  for (const Triplets& part : spec.precision)
    if (part.rows != L || part.columns != L)
      throw std::invalid_argument("the parts of a field's precision differ in size");

  precision_ = union_pattern(spec.precision, L);
  component_ = components(precision_);
  const Index size = precision_.nonZeros();
  parts_ = Matrix::Zero(size, model_.parts);
  // the values as positions among themselves, to be looked up
  for (Index e = 0; e < size; ++e) precision_.valuePtr()[e] = static_cast<double>(e);
  for (Index p = 0; p < model_.parts; ++p)
    for (const auto& entry : spec.precision[p].entries) {
      if (entry.row() < entry.col())
        throw std::invalid_argument("a field's precision has an entry above its diagonal");
      parts_(static_cast<Index>(precision_.coeff(entry.row(), entry.col())), p) += entry.value();
    }
  multiplicity_ = Vector::Constant(size, 2);
  diagonal_.resize(L);
  for (Index j = 0; j < L; ++j) {
    diagonal_[j] = precision_.outerIndexPtr()[j];
    multiplicity_[diagonal_[j]] = 1;
  }

  const Index c = static_cast<Index>(pins_.size());
  if (spec.constraints.columns != c || (c > 0 && spec.constraints.rows != L))
    throw std::invalid_argument("a field has another number of pins than constraints");
  constraints_ = Matrix::Zero(L, c);
  for (const auto& entry : spec.constraints.entries) constraints_(entry.row(), entry.col()) += entry.value();
  for (const Index pin : pins_)
    if (pin < 0 || pin >= L) throw std::invalid_argument("a field is pinned at a node that it does not have");
}

void Field::update(const ConstVectorRef& hyper) {
  Vector own(static_cast<Index>(hyper_.size()));
  for (Index h = 0; h < own.size(); ++h) own[h] = hyper[hyper_[h]];
  const Mixture mixture = model_.mix(own);
  coefficient_ = mixture.coefficient;
  slope_ = mixture.slope;
  if (!one_part() || unit_.size() == 0) {
    unit_ = one_part() ? Vector(parts_.col(0)) : Vector(parts_ * coefficient_);
    unit_pins_.resize(static_cast<Index>(pins_.size()));
    for (std::size_t j = 0; j < pins_.size(); ++j) unit_pins_[j] = unit_[diagonal_[pins_[j]]];
    for (std::size_t j = 0; j < pins_.size(); ++j) unit_[diagonal_[pins_[j]]] += unit_pins_[j];
    factorised_ = covariances_known_ = false;
  }
  scale_ = one_part() ? coefficient_[0] : 1;
  pin_weights_ = scale_ * unit_pins_;
  Eigen::Map<Vector>(precision_.valuePtr(), precision_.nonZeros()) = scale_ * unit_;
}

void Field::factorise(Context& context) const {
  if (factorised_) return;
  if (!factor_) factor_.emplace(precision_);
  if (!(scale_ > 0) || !factor_->factorise(context, unit_))
    throw std::domain_error("the precision of a " + model_.name +
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

Matrix Field::gauge_transposed(const ConstMatrixRef& X) const {
  return X - constraints_ * (shift_.transpose() * X);
}

Matrix Field::covariance_times(Context& context, const ConstMatrixRef& X) const {
  factorise(context);
  Matrix out = gauge_transposed(X);
  factor_->solve(context, out);
  out -= shift_ * (constraints_.transpose() * out);
  return out / scale_;
}

Matrix Field::whitened(Context& context, const ConstMatrixRef& X) const {
  factorise(context);
  Matrix out = gauge_transposed(X);
  factor_->solve_lower(context, out);
  return out / std::sqrt(scale_);
}

double Field::log_det(Context& context) const {
  factorise(context);
  return log_det_ + static_cast<double>(size()) * std::log(scale_);
}

// P R^-1 P' = R^-1 - S U' - U S' + S (B'U) S' with S = N (B'N)^-1 and U = R^-1 B
Vector Field::covariances(Context& context) const {
  factorise(context);
  if (!covariances_known_) {
    const SparseMatrix inverse = factor_->selected_inverse(context);
    covariances_ = Eigen::Map<const Vector>(inverse.valuePtr(), inverse.nonZeros());
    if (!pins_.empty()) {
      Matrix U = constraints_;
      factor_->solve(context, U);
      U -= 0.5 * shift_ * (constraints_.transpose() * U);
      // nodes as columns, for the products of single nodes
      const Matrix by_node = U.transpose(), shift = shift_.transpose();
      for (Index j = 0; j < size(); ++j)
        for (int e = precision_.outerIndexPtr()[j]; e < precision_.outerIndexPtr()[j + 1]; ++e) {
          const Index i = precision_.innerIndexPtr()[e];
          covariances_[e] -= shift.col(i).dot(by_node.col(j)) + by_node.col(i).dot(shift.col(j));
        }
    }
    covariances_known_ = true;
  }
  return covariances_ / scale_;
}

Vector Field::variances(Context& context) const {
  const Vector all = covariances(context);
  Vector out(size());
  for (Index j = 0; j < size(); ++j) out[j] = all[diagonal_[j]];
  return out;
}

// Nodes of one row are mostly one, or neighbours on the pattern, or independent; else w' Q^- w is solved for.
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

void Field::chain(const Vector& d_coefficient, VectorRef hyper) const {
  const Vector d_hyper = slope_.transpose() * d_coefficient;
  for (std::size_t h = 0; h < hyper_.size(); ++h) hyper[hyper_[h]] += d_hyper[h];
}

void Field::add_gradient(const Vector& G, VectorRef hyper) const {
  chain(parts_.transpose() * G.cwiseProduct(multiplicity_), hyper);
}

void Field::add_gradient_of_one_part(double with_Q, VectorRef hyper) const {
  chain(Vector::Constant(1, with_Q / coefficient_[0]), hyper);
}

// tr(Q^- dQ), and tr(Q^- Q) is the rank
void Field::add_log_det_gradient(Context& context, double share, VectorRef hyper) const {
  const double rank = static_cast<double>(size() - constraints_.cols());
  if (one_part())
    add_gradient_of_one_part(share * rank, hyper);
  else
    add_gradient(share * covariances(context), hyper);
}

}  // namespace galvi
