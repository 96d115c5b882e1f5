#include "prior/factors_term.h"

#include <algorithm>
#include <stdexcept>

namespace galvi {

namespace {

constexpr Index pair_rows = 256;

// N(0, I) over L nodes.
FieldSpec standard_field(Index L) {
  FieldSpec spec;
  spec.model = "standard";
  Triplets identity{L, L, {}};
  for (Index i = 0; i < L; ++i) identity.entries.emplace_back(i, i, 1.0);
  spec.precision.push_back(std::move(identity));
  return spec;
}

// The rows of each unit.
std::vector<std::vector<Index>> rows_by_unit(const TermRows& rows) {
  std::vector<std::vector<Index>> out(rows.node.size() > 0 ? std::max(0, rows.node.maxCoeff()) + 1 : 0);
  for (Index n = 0; n < rows.node.rows(); ++n) if (rows.node(n) >= 0) out[rows.node(n)].push_back(n);
  return out;
}

}  // namespace

FactorsTerm::FactorsTerm(const TermSpec& spec)
    : Term(spec.label),
      loading_at_(spec.factor.loadings.transpose()),
      effect_at_(spec.factor.effects.transpose()),
      loadings_(Matrix::Zero(loading_at_.rows(), loading_at_.cols())),
      effects_(Matrix::Zero(effect_at_.rows(), effect_at_.cols())),
      units_(spec.factor.units),
      field_(standard_field(spec.factor.units * spec.factor.loadings.cols())) {
  if (loading_at_.size() == 0 || units_ < 1 || effect_at_.cols() != loading_at_.cols())
    throw std::invalid_argument("term " + spec.label + ": factors need loadings, units and effects of each item");
  field_.update(Vector());
}

void FactorsTerm::update(const ConstVectorRef& hyper) {
  const auto value = [&](int at) { return hyper[at]; };
  loadings_ = loading_at_.unaryExpr(value);
  effects_ = effect_at_.unaryExpr(value);
}

void FactorsTerm::check(const TermRows& rows) const {
  check_width("node", rows.node.cols(), 1);
  check_width("item", rows.item.cols(), 1);
  if (effect_at_.rows() > 0) check_width("W", rows.W.cols(), effect_at_.rows());
  if (rows.item.size() == 0) return;
  if (rows.item.minCoeff() < 0 || rows.item.maxCoeff() >= loading_at_.cols())
    throw std::invalid_argument("term " + label() + ": a row has an item that the term does not have");
}

void FactorsTerm::add_prior_mean(const TermRows& rows, Index begin, VectorRef mean) const {
  if (effects_.rows() == 0) return;
  for (Index i = 0; i < mean.size(); ++i)
    mean[i] += rows.W.row(begin + i).dot(effects_.col(rows.item(begin + i)));
}

void FactorsTerm::add_prior_mean_gradient(const TermRows& rows, const ConstVectorRef& g, VectorRef hyper) const {
  for (Index n = 0; n < g.size(); ++n)
    for (Index k = 0; k < effects_.rows(); ++k) hyper[effect_at_(k, rows.item(n))] += g[n] * rows.W(n, k);
}

void FactorsTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  for (const auto& unit : rows_by_unit(rows)) {
    context.monitor.poll();
    for (const Index j : unit)
      for (const Index i : unit)
        if (i >= j) K(i, j) += loading(rows, i).dot(loading(rows, j));
  }
}

void FactorsTerm::add_variances(Context&, const TermRows& rows, VectorRef d) const {
  for (Index n = 0; n < d.size(); ++n)
    if (rows.node(n) >= 0) d[n] += loading(rows, n).squaredNorm();
}

void FactorsTerm::add_cross(Context&, const TermRows& rows, const TermRows& others, MatrixRef K) const {
  for (Index j = 0; j < K.cols(); ++j)
    for (Index i = 0; i < K.rows(); ++i)
      if (rows.node(i) >= 0 && rows.node(i) == others.node(j)) K(i, j) += loading(rows, i).dot(loading(others, j));
}

// d/dw_i of sum G_ij w_i'w_j over the pairs of a unit.
void FactorsTerm::add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                                          VectorRef hyper) const {
  const Index N = rows.node.rows();
  for (Index row0 = 0; row0 < N; row0 += pair_rows)
    for (Index col0 = 0; col0 <= row0; col0 += pair_rows) {
      context.monitor.poll();
      Matrix tile(std::min(pair_rows, N - row0), std::min(pair_rows, N - col0));
      G.tile(row0, col0, tile);
      for (Index j = col0; j < col0 + tile.cols(); ++j)
        for (Index i = std::max(row0, j); i < row0 + tile.rows(); ++i) {
          if (rows.node(i) != rows.node(j)) continue;
          // an entry below the diagonal counts twice
          const double share = (i == j ? 1.0 : 2.0) * tile(i - row0, j - col0);
          for (Index k = 0; k < dimension(); ++k) {
            hyper[loading_at_(k, rows.item(i))] += share * loadings_(k, rows.item(j));
            hyper[loading_at_(k, rows.item(j))] += share * loadings_(k, rows.item(i));
          }
        }
    }
}

SparseRows FactorsTerm::field_design(const TermRows& rows) const {
  const Index n = rows.node.rows(), d = dimension();
  SparseRows out(n, field_.size());
  out.reserve(Eigen::VectorXi::Constant(n, static_cast<int>(d)));
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < d && rows.node(i) >= 0 && rows.node(i) < units_; ++k)
      out.insert(i, d * rows.node(i) + k) = loadings_(k, rows.item(i));
  out.makeCompressed();
  return out;
}

void FactorsTerm::add_field_design_gradient(const TermRows& rows, const ConstMatrixRef& G, const ConstVectorRef&,
                                            VectorRef hyper) const {
  for (Index n = 0; n < G.rows(); ++n)
    for (Index k = 0; k < G.cols(); ++k) hyper[loading_at_(k, rows.item(n))] += G(n, k);
}

}  // namespace galvi
