// What is kept of a posterior, and the coefficients and predictions computed from it.
#include <algorithm>

#include "solver/sparse.h"

namespace galvi {

std::vector<Coefficients> SparseSolver::coefficients(const SolverState& state) {
  use(state.lambda);
  const Vector beta = prior_->scale().cwiseProduct(mean_at(state).beta.col(0));
  const Matrix covariance =
      prior_->scale().asDiagonal() * factor_->coefficient_covariance() * prior_->scale().asDiagonal();
  std::vector<Coefficients> out;
  for (Index t = 0; t < prior_->size(); ++t)
    if (const Index q = (*prior_)[t].columns(), at = prior_->first_column(t); q > 0)
      out.push_back({(*prior_)[t].label(), prior_->coefficient_mean().segment(at, q) + beta.segment(at, q),
                     covariance.block(at, at, q, q)});
  return out;
}

// Uses the selected inverse where all pairs of a row's nodes are on the pattern, as in training rows, else a
// solve.
Vector SparseSolver::variances_of(const DesignRows& others, Index t, const SparseRows& W, const Matrix& dense) const {
  Vector border;
  factor_->cross_covariance(context_.backend, W, 0, dense, &border);
  std::vector<Index> unknown;
  Vector out = fields_.quadratic_forms(context_, factor_->selected_inverse(context_), others, t, W, unknown) + border;
  const Vector forms = forms_off_pattern(W, unknown);
  for (std::size_t k = 0; k < unknown.size(); ++k) out[unknown[k]] = border[unknown[k]] + forms[k];
  return out;
}

// One solve for each row, or of many rows one more factorisation, with their pairs on the pattern.
Vector SparseSolver::forms_off_pattern(const SparseRows& W, const std::vector<Index>& rows) const {
  constexpr double passes = 6;  // over the flops of a factor, to find it and its inverse
  const auto number = static_cast<Index>(rows.size());
  Vector out = Vector::Zero(number);
  const FactorSize known = symbolic_.size();
  if (factor_->can_draw() && number * known.entries > passes * known.work) {
    const SparseMatrix precision = fields_.precision(context_, lambda_, W, rows);
    SparseCholesky factor(precision);
    const Eigen::Map<const Vector> values(precision.valuePtr(), precision.nonZeros());
    if (!too_large(factor.size()) && factor.factorise(context_, values)) {
      const SparseMatrix inverse = factor.selected_inverse(context_);
      for (Index k = 0; k < number; ++k)
        for (SparseRows::InnerIterator a(W, rows[k]); a; ++a)
          for (SparseRows::InnerIterator b(W, rows[k]); b; ++b)
            out[k] += a.value() * b.value() * inverse.valuePtr()[galvi::position(inverse, a.col(), b.col())];
      return out;
    }
  }
  for (Index begin = 0; begin < number; begin += block_columns) {
    context_.monitor.poll();
    const Index count = std::min(block_columns, number - begin);
    Matrix X = Matrix::Zero(fields_.size(), count);
    for (Index k = 0; k < count; ++k)
      for (SparseRows::InnerIterator w(W, rows[begin + k]); w; ++w) X(w.col(), k) = w.value();
    out.segment(begin, count) = factor_->quadratic_forms(context_, std::move(X));
  }
  return out;
}

// Computed from b: Sigma W' alpha is the same in exact arithmetic, but alpha is b less lambda times the mean, and a
// wide prior magnifies the digits that this difference loses.
const SparseSolver::Latent& SparseSolver::mean_at(const SolverState& state) {
  use(state.lambda);
  return latent_mean(state.b);
}

SparseSolver::TermDesign SparseSolver::term_design(const DesignRows& others, Index t) const {
  const Term& term = (*prior_)[t];
  const Index b = others.size();
  TermDesign out{fields_.design(others, t), Matrix(b, term.columns()), Vector::Zero(b)};
  if (out.columns.cols() > 0) term.fill(others[t], 0, out.columns);
  term.add_extra_variances(others[t], 0, out.columns, out.extra);
  return out;
}

Conditional SparseSolver::conditional(const SolverState& state, const DesignRows& others,
                                      const ConditionalRequest& request) {
  const Index T = prior_->size(), b = others.size();
  const bool factored = request.variance || request.covariance;
  const Latent& u = mean_at(state);
  Conditional out;
  out.mean = out.variance = Vector::Zero(b);
  if (request.terms) out.term_mean = out.term_variance = Matrix::Zero(b, T);

  Matrix dense(b, columns_.size());
  Vector extra = Vector::Zero(b);
  for (Index t = 0; t < T; ++t) {
    const TermDesign own = term_design(others, t);
    const Index at = prior_->first_column(t), q = own.columns.cols();
    Vector mean = own.fields * u.z.col(0) + own.columns * u.beta.col(0).segment(at, q);
    (*prior_)[t].add_prior_mean(others[t], 0, mean);
    out.mean += mean;
    dense.middleCols(at, q) = own.columns;
    extra += own.extra;
    if (request.terms) out.term_mean.col(t) = mean;
    if (request.terms && factored) {
      Matrix alone = Matrix::Zero(b, columns_.size());
      alone.middleCols(at, q) = own.columns;
      out.term_variance.col(t) = variances_of(others, t, own.fields, alone) + own.extra;
    }
  }
  if (!factored) return out;

  const SparseRows W = fields_.design(others);
  if (request.covariance) {
    const Latent solved = solve({Matrix(W.transpose()), dense.transpose()});
    out.covariance = W * solved.z + dense * solved.beta;
    out.covariance = (0.5 * (out.covariance + out.covariance.transpose())).eval();
    out.covariance.diagonal() += extra;
    out.variance = out.covariance.diagonal();
  } else {
    out.variance = variances_of(others, -1, W, dense) + extra;
  }
  return out;
}

Matrix SparseSolver::draw(const SolverState& state, const DesignRows& others, Index count) {
  const Latent& mean = mean_at(state);
  if (!factor_->can_draw()) return Solver::draw(state, others, count);
  Latent u;
  factor_->draw(context_, fields_, count, u.z, u.beta);
  u.z.colwise() += mean.z.col(0);
  u.beta.colwise() += mean.beta.col(0);
  // some rows at a time: the product of all would be a second matrix of draws, and would not hear an interrupt
  constexpr Index block_rows = 1024;
  Matrix out = expand_draws(others, u.beta);
  const SparseRows W = fields_.design(others);
  for (Index begin = 0; begin < out.rows(); begin += block_rows) {
    context_.monitor.poll();
    const Index rows = std::min(block_rows, out.rows() - begin);
    out.middleRows(begin, rows) += W.middleRows(begin, rows) * u.z;
  }
  return out;
}

}  // namespace galvi
