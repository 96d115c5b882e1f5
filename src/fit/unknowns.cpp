#include "fit/unknowns.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "likelihood/mixed.h"
#include "numeric/alike_rows.h"
#include "numeric/dense.h"
#include "prior/field.h"

namespace galvi {

Index coefficient_count(const Term& term) { return term.columns() + (term.field() ? term.field()->size() : 0); }

namespace {

/// Calls f(term, at) for every term of a prior, with the place of its first coefficient.
template <class F>
void for_terms(const Prior& prior, const F& f) {
  Index at = 0;
  for (const auto& term : prior) {
    f(*term, at);
    at += coefficient_count(*term);
  }
}

/// Coefficients whose prior variance is zero, as the intercept beside thresholds, are known.
std::vector<Index> known_coefficients(const Matrix& prior_precision) {
  std::vector<Index> known;
  for (Index i = 0; i < prior_precision.rows(); ++i)
    if (std::isinf(prior_precision(i, i))) known.push_back(i);
  return known;
}

/// Their rows of the posterior's precision become those of the identity.
void pin(const std::vector<Index>& known, Matrix& precision) {
  for (const Index i : known) {
    precision.row(i).setZero();
    precision.col(i).setZero();
    precision(i, i) = 1;
  }
}

}  // namespace

std::optional<Unknowns> Unknowns::of(LatentGaussianModel& model, Index most) {
  const Mixed* mixed = model.likelihood().mixed();
  if (!model.has_all_rows() || (mixed && !mixed->has_priors())) return std::nullopt;
  constexpr double most_numbers = 1e7;  // of the designs
  const auto number = static_cast<double>(model.rows());
  Unknowns out(model);
  for (const auto& part : model.priors()) {
    Index expected = 0;
    for (const auto& term : *part.prior) {
      if (!term->has_plain_design()) return std::nullopt;
      expected += coefficient_count(*term);
    }
    if (expected > most || static_cast<double>(expected) * number > most_numbers) return std::nullopt;
    const DesignRows& rows = *model.block().designs[part.design];
    std::vector<Matrix> designs;
    Index columns = 0;
    for (Index t = 0; t < part.prior->size(); ++t) {
      designs.push_back((*part.prior)[t].plain_design(rows[t]));
      columns += designs.back().cols();
    }
    Matrix W(model.rows(), columns);
    Index at = 0;
    for (const Matrix& design : designs) {
      W.middleCols(at, design.cols()) = design;
      at += design.cols();
    }
    out.W_.push_back(std::move(W));
  }
  for (Index k = 0; k < model.latents(); ++k) {
    out.which_.push_back(model.prior_index(k));
    out.first_.push_back(out.size_);
    out.size_ += out.count(k);
  }
  if (out.size_ > most || static_cast<double>(out.size_) * number > most_numbers) return std::nullopt;
  constexpr double mostly_zero = 0.2;  // at most this share of the numbers is not zero
  double others = 0, all = 0;
  for (const Matrix& W : out.W_) {
    others += static_cast<double>((W.array() != 0).count());
    all += static_cast<double>(W.size());
  }
  if (others < mostly_zero * all)
    for (const Matrix& W : out.W_) out.sparse_.push_back(W.sparseView());
  return out;
}

DistinctRows Unknowns::distinct() const {
  Data data = model_->data();
  Vector weight = data.weight;  // of all rows that are alike
  data.weight.setOnes();
  std::vector<Index> which;
  AlikeRows alike(weight.size());
  for (Index n = 0; n < weight.size(); ++n) {
    const Index first = alike.first(n, [&](Index row, const auto& add) {
      data.for_numbers(row, add);
      for (Index k = 0; k < latents(); ++k) add(offset()(row, k));
      for (const Matrix& W : W_)
        for (Index j = 0; j < W.cols(); ++j) add(W(row, j));
    });
    if (first == n)
      which.push_back(n);
    else
      weight[first] += weight[n];
  }
  data.weight = std::move(weight);
  DistinctRows out{data.at(which), offset()(which, Eigen::all), {}};
  for (const Matrix& W : W_) out.W.push_back(W(which, Eigen::all));
  return out;
}

Vector Unknowns::prior_mean() const {
  Vector out = Vector::Zero(size_);
  for (Index k = 0; k < latents(); ++k)
    for_terms(prior(k), [&](const Term& term, Index at) {
      out.segment(first(k) + at, term.columns()) = term.coefficient_mean();
    });
  return out;
}

Matrix Unknowns::prior_precision() const {
  Matrix out = Matrix::Zero(size_, size_);
  for (Index k = 0; k < latents(); ++k)
    for_terms(prior(k), [&](const Term& term, Index at) {
      at += first(k);
      const Index q = term.columns();
      out.diagonal().segment(at, q) = term.coefficient_variance().cwiseInverse();
      if (!term.field()) return;
      const Index nodes = term.field()->size();
      out.block(at + q, at + q, nodes, nodes) =
          Matrix(term.field()->pinned_precision()).selfadjointView<Eigen::Lower>();
    });
  return out;
}

double Unknowns::log_prior(const ConstVectorRef& z) const {
  double out = 0;
  for (Index k = 0; k < latents(); ++k)
    for_terms(prior(k), [&](const Term& term, Index at) {
      at += first(k);
      const Index q = term.columns();
      for (Index j = 0; j < q; ++j) {
        const double variance = term.coefficient_variance()[j], away = z[at + j] - term.coefficient_mean()[j];
        if (std::isfinite(variance) && variance > 0)
          out -= 0.5 * (away * away / variance + std::log(variance)) + log_sqrt_2pi;
      }
      if (!term.field()) return;
      const Index nodes = term.field()->size();
      const Vector own = z.segment(at + q, nodes);
      out += 0.5 * (term.field()->log_det(model_->context()) - own.dot(term.field()->precision_times(own))) -
             static_cast<double>(nodes) * log_sqrt_2pi;
    });
  return out;
}

Matrix Unknowns::between(Index j, Index k, const ConstVectorRef& h) const {
  if (sparse_.empty()) return W(j).transpose() * h.asDiagonal() * W(k);
  const SparseMatrix weighted = h.asDiagonal() * sparse_[which_[k]];
  return Matrix(sparse_[which_[j]].transpose() * weighted);
}

Vector Unknowns::mean(const Posterior& q) const {
  // exp(b f - lambda f^2 / 2) with f = W (z - prior mean), and its prior N(0, P0^-1)
  const Matrix P0 = prior_precision();
  Vector out = prior_mean();
  for (Index k = 0; k < latents(); ++k) {
    const auto own = P0.block(first(k), first(k), count(k), count(k));
    Matrix A = own + between(k, k, q.sites().lambda.col(k));
    Vector h = W(k).transpose() * q.sites().b.col(k);
    const std::vector<Index> known = known_coefficients(own);
    pin(known, A);
    for (const Index i : known) h[i] = 0;
    out.segment(first(k), count(k)) += A.ldlt().solve(h);
  }
  return out;
}

std::optional<CoefficientGaussian> Unknowns::one_step(const Posterior& q) const {
  const Index K = latents();
  Matrix M = prior_precision();
  const std::vector<Index> known = known_coefficients(M);
  Expectations e;
  if (K > 1)
    model_->expectation().evaluate(model_->context(), model_->likelihood(), model_->data(), q->mean, q->variance, 2,
                                   e);
  for (Index k = 0; k < K; ++k)
    for (Index j = 0; j <= k; ++j) {
      const Vector h = j == k ? Vector(q.sites().lambda.col(k)) : Vector(-e.d_mm.col(j + K * k));
      const Matrix block = between(j, k, h);
      M.block(first(j), first(k), count(j), count(k)) += block;
      if (j < k) M.block(first(k), first(j), count(k), count(j)) += block.transpose();
    }
  pin(known, M);
  Vector scale = M.diagonal().cwiseSqrt().cwiseInverse();
  if (!scale.allFinite()) return std::nullopt;
  Matrix root = scale.asDiagonal() * M * scale.asDiagonal();
  if (!root.allFinite() || !cholesky(model_->context(), root)) return std::nullopt;
  invert_from_cholesky(model_->context(), root, size_);
  fill_upper(root);
  for (const Index i : known) scale[i] = 0;
  return CoefficientGaussian{mean(q), scale.asDiagonal() * root * scale.asDiagonal()};
}

double Unknowns::skew_share(const Posterior& q, const CoefficientGaussian& step) const {
  Expectations e;
  model_->expectation().evaluate(model_->context(), model_->likelihood(), model_->data(), q->mean, q->variance, 2, e);
  double largest = 0;
  for (Index k = 0; k < latents(); ++k) {
    // Z = W R with V = R R'. Of T_jil = sum_n E[f_n third derivative] Z_nj Z_ni Z_nl the share is the largest eigenvalue
    // of half of sum_jl T_jil T_jlh.
    const Index L = count(k);
    const Vector third = 2 * e.d_mv.col(k * (latents() + 1));
    const Eigen::LLT<Matrix> root(step.covariance.block(first(k), first(k), L, L));
    const Matrix Z = W(k) * root.matrixL().toDenseMatrix();
    Matrix sum = Matrix::Zero(L, L);
    for (Index j = 0; j < L; ++j) {
      const Matrix T = Z.transpose() * third.cwiseProduct(Z.col(j)).asDiagonal() * Z;
      sum.noalias() += 0.5 * T * T;
    }
    largest = std::max(largest, sum.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff());
  }
  return largest;
}

}  // namespace galvi
