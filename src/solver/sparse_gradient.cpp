// The gradient of the bound in the hyperparameters, and other derivatives by differences of factors.
#include <algorithm>
#include <cmath>
#include <map>

#include "numeric/dense.h"
#include "prior/factors_term.h"
#include "solver/sparse.h"

namespace galvi {

namespace {

// Relative change of A for derivatives by differences of fourth order: its fourth power, and the rounding
// error of a difference divided by it, are both about 1e-12.
constexpr double relative_step = 1e-3;

}  // namespace

void SparseSolver::differentiate(const Vector& direction,
                                 const std::function<void(double, const BorderedFactor&)>& visit) const {
  // A + e W' D W changes A by at most e max(|D| / lambda) relative to itself where lambda > 0, and by at most
  // e sum |D| v elsewhere.
  const Vector& v = marginal_variances();
  double ratio = 0, without = 0, all = 0;
  for (Index n = 0; n < rows_; ++n) {
    const double d = std::abs(direction[n]);
    all += d * v[n];
    if (lambda_[n] > 0)
      ratio = std::max(ratio, d / lambda_[n]);
    else
      without += d * v[n];
  }
  const double largest = std::min(all, ratio + without);
  if (!(largest > 0)) return;
  const double h = relative_step / largest;
  for (const auto& [steps, share] : {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
    const BorderedFactor near = factor_at(lambda_ + steps * h * direction);
    if (!near.ok()) throw_singular();
    visit(share / (12 * h), near);
  }
}

// (V o V) x = diag(V diag(x) V) is minus the derivative of diag(V) in the direction x of lambda.
Vector SparseSolver::apply_squared_covariance(const Vector& x) const {
  if (cheap_products()) return squared_symmetric_product(context_, dense_covariance(), x);
  Vector out = Vector::Zero(rows_);
  differentiate(x, [&](double share, const BorderedFactor& near) { out -= share * variances(near); });
  return out;
}

Vector SparseSolver::node_covariances(const BorderedFactor& factor) const {
  if (fields_.size() == 0) return Vector();
  Vector out = factor.selected_inverse(context_);
  const SparseMatrix& pattern = fields_.pattern();
  Index e = 0;
  for (Index j = 0; j < pattern.cols(); ++j)
    for (SparseMatrix::InnerIterator entry(pattern, j); entry; ++entry, ++e)
      out[e] += factor.border_covariance(entry.row(), j);
  return out;
}

void SparseSolver::add_column_gradient(const BorderedFactor& factor, const Vector& weight,
                                       const RowGradients& add_more, ColumnGradients& sums) const {
  if (columns_.size() == 0) return;
  columns_.for_chunks(factor.row_flops() * rows_, [&](Index group, Index begin, const ConstMatrixRef& chunk) {
    Matrix G = (2 * weight.segment(begin, chunk.rows())).asDiagonal() *
               factor.cross_covariance(context_.backend, fields_.rows(), begin, chunk).transpose();
    Vector g = Vector::Zero(chunk.rows());
    if (add_more) add_more(begin, G, g);
    sums.add(group, begin, chunk, G, g);
  });
}

std::vector<Index> SparseSolver::nodes_of(Index t, Index n) const {
  const Index begin = fields_.first_node(t), end = begin + (*prior_)[t].field()->size();
  std::vector<Index> out;
  for (SparseRows::InnerIterator w(fields_.rows(), n); w; ++w)
    if (w.col() >= begin && w.col() < end) out.push_back(w.col());
  return out;
}

Matrix SparseSolver::row_covariances(const BorderedFactor& factor, Index t) const {
  const Vector& inverse = factor.selected_inverse(context_);
  Index most = 0;
  for (Index n = 0; n < rows_; ++n) most = std::max<Index>(most, nodes_of(t, n).size());
  Matrix out = Matrix::Zero(rows_, most);
  for (Index n = 0; n < rows_; ++n) {
    const std::vector<Index> nodes = nodes_of(t, n);
    Vector own = factor.border_cross(fields_.rows(), n, columns_.row(n), nodes);
    for (Index k = 0; k < own.size(); ++k)
      for (SparseRows::InnerIterator w(fields_.rows(), n); w; ++w)
        own[k] += w.value() * inverse[fields_.position(w.col(), nodes[k])];
    out.row(n).head(own.size()) = own.transpose();
  }
  return out;
}

// cov(f_n, z) is w_n' Z with Z = A^-1 on the pattern, the nodes of other fields in the row, and the border.
void SparseSolver::add_separable_gradient(const BorderedFactor& factor, Index t, const Vector& weight,
                                          const std::function<double(Index n, Index node)>& more,
                                          SeparableGradient& sums) const {
  const Vector& inverse = factor.selected_inverse(context_);
  const SeparableForms& forms = *fields_.separable(t);
  const SeparableRows& rows = forms.rows();
  forms.add_gradient(context_, fields_.pattern(), inverse, weight, sums);
  const Index begin = fields_.first_node(t), end = begin + (*prior_)[t].field()->size();
  for (const Index n : rows.rows) {
    const std::vector<Index> nodes = nodes_of(t, n);
    Vector own = factor.border_cross(fields_.rows(), n, columns_.row(n), nodes);
    for (SparseRows::InnerIterator w(fields_.rows(), n); w; ++w) {
      if (w.col() >= begin && w.col() < end) continue;
      for (Index k = 0; k < own.size(); ++k) own[k] += w.value() * inverse[fields_.position(w.col(), nodes[k])];
    }
    own *= 2 * weight[n];
    for (Index k = 0; more && k < own.size(); ++k) own[k] += more(n, nodes[k]);
    sums.add_row(rows, n, rows.moment[n], own);
  }
}

UnitMoments SparseSolver::unit_moments(Index t, const Vector& b) {
  UnitMoments out;
  const FactorsTerm& term = *(*prior_)[t].factors();
  const Index d = term.dimension(), units = term.units(), begin = fields_.first_node(t);
  const Latent& u = latent_mean(b);
  out.mean = Eigen::Map<const Matrix>(u.z.data() + begin, d, units);
  const Vector known = node_covariances(*factor_);
  out.covariance = Matrix::Zero(d * d, units);
  for (Index unit = 0; unit < units; ++unit)
    for (Index j = 0; j < d; ++j)
      for (Index i = 0; i < d; ++i)
        if (const Index at = fields_.position(begin + d * unit + i, begin + d * unit + j); at >= 0)
          out.covariance(i + d * j, unit) = known[at];
  out.cross = row_covariances(*factor_, t).transpose();
  return out;
}

// With K = A^-1 under the constraints, u = K W' b and p = K W' (d_mean - alpha), zero at the optimum,
//   d bound / dQ   = (Q^- - K - u u') / 2 - sym(p u') + K'
//   d bound / dW_d = 2 diag(d_variance) W K + (d_mean - diag(lambda) W p) u' + alpha p'
//                    + 2 diag(lambda) W K',
// the last also at the nodes of rows whose weights there move with the hyperparameters. K' is K's derivative as lambda moves along d_variance + lambda / 2.
void SparseSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  const Latent& u = latent_mean(site.b);
  Latent p{Matrix::Zero(fields_.size(), 1), Matrix::Zero(columns_.size(), 1)};
  Vector with_mean = site.d_mean;  // the factor of u'
  if (!site.optimal) {
    p = solve(project(site.d_mean - site.alpha));
    with_mean -= lambda_.cwiseProduct(expand(p));
  }
  const Vector& d_extra = site.d_extra ? *site.d_extra : site.d_variance;
  const RowGradients through_means = [&](Index begin, MatrixRef G, VectorRef g) {
    G.noalias() += with_mean.segment(begin, G.rows()) * u.beta.transpose();
    if (!site.optimal) G.noalias() += site.alpha.segment(begin, G.rows()) * p.beta.transpose();
    g = d_extra.segment(begin, G.rows());
  };

  ColumnGradients by_column(*prior_, *design_, columns_.groups());
  add_column_gradient(*factor_, site.d_variance, through_means, by_column);
  Vector by_node = -0.5 * node_covariances(*factor_);  // -K / 2 + K'
  std::map<Index, Matrix> by_weight;                   // by term, d bound / dW_s at the nodes of each row
  std::map<Index, SeparableGradient> by_product;       // or its sums, where weights are products
  for (Index t = 0; t < prior_->size(); ++t) {
    if (!(*prior_)[t].moves_field_design()) continue;
    if (const SeparableForms* forms = fields_.separable(t)) {
      auto& sums = by_product.emplace(t, SeparableGradient(forms->rows())).first->second;
      add_separable_gradient(*factor_, t, site.d_variance, [&](Index n, Index node) {
        return with_mean[n] * u.z(node) + site.alpha[n] * p.z(node);
      }, sums);
      continue;
    }
    Matrix G = (2 * site.d_variance).asDiagonal() * row_covariances(*factor_, t);
    for (Index n = 0; n < rows_; ++n) {
      const std::vector<Index> nodes = nodes_of(t, n);
      for (std::size_t k = 0; k < nodes.size(); ++k)
        G(n, k) += with_mean[n] * u.z(nodes[k]) + site.alpha[n] * p.z(nodes[k]);
    }
    by_weight[t] = std::move(G);
  }
  if (!site.optimal)
    differentiate(site.d_variance + 0.5 * lambda_, [&](double share, const BorderedFactor& near) {
      add_column_gradient(near, share * lambda_, {}, by_column);
      by_node += share * node_covariances(near);
      for (auto& [t, G] : by_weight) G += (2 * share * lambda_).asDiagonal() * row_covariances(near, t);
      for (auto& [t, sums] : by_product) add_separable_gradient(near, t, share * lambda_, {}, sums);
    });

  const auto d_precision = [&](Index i, Index j, Index position) {
    return by_node[position] - 0.5 * (u.z(i) * u.z(j) + p.z(i) * u.z(j) + u.z(i) * p.z(j));
  };
  fields_.add_gradient(context_, d_precision, hyper);  // with Q^- / 2
  by_column.finish(hyper);
  for (const auto& [t, G] : by_weight)
    (*prior_)[t].add_field_design_gradient((*design_)[t], G, d_extra, hyper);
  for (const auto& [t, sums] : by_product)
    (*prior_)[t].add_separable_gradient(fields_.separable(t)->rows(), sums, d_extra, hyper);
}

}  // namespace galvi
