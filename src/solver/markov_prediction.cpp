// Predictions: new rows join the chains without sites.
#include "numeric/dense.h"
#include "prior/chain_term.h"
#include "solver/markov.h"
#include "solver/small_root.h"

namespace galvi {

namespace {

template <class Part>
Part stacked(const Part& above, const Part& below) {
  Part out(above.rows() + below.rows(), below.cols());
  if (above.rows() > 0) out.topRows(above.rows()) = above;
  out.bottomRows(below.rows()) = below;
  return out;
}

/// Rows of a chain, of columns or of a field, one after the other.
TermRows joined(const TermRows& above, const TermRows& below, Index rows, Index more) {
  TermRows out;
  if (below.W.cols() > 0) out.W = stacked(above.W, below.W);
  if (below.kernel.inputs.cols() > 0) out.kernel.inputs = stacked(above.kernel.inputs, below.kernel.inputs);
  if (below.node.cols() > 0) {
    out.node = stacked(above.node, below.node);
    if (above.weight.cols() + below.weight.cols() > 0) out.weight.resize(rows + more, out.node.cols());
    for (Index n = 0; n < out.weight.rows(); ++n)
      for (Index h = 0; h < out.node.cols(); ++h)
        out.weight(n, h) = n < rows ? above.node_weight(n, h) : below.node_weight(n - rows, h);
  }
  if (below.kernel.group.size() > 0) out.kernel.group = stacked(above.kernel.group, below.kernel.group);
  if (above.kernel.by.size() > 0 || below.kernel.by.size() > 0) {
    out.kernel.by = Vector::Ones(rows + more);
    if (above.kernel.by.size() > 0) out.kernel.by.head(rows) = above.kernel.by;
    if (below.kernel.by.size() > 0) out.kernel.by.tail(more) = below.kernel.by;
  }
  return out;
}

}  // namespace

// b of a row without noise is infinite, too.
SolverState MarkovSolver::finite(const SolverState& state) const {
  SolverState out = state;
  if (state.lambda.allFinite()) return out;
  out.lambda = finite(state.lambda);
  const Vector mean = apply_prior(state.alpha);
  for (Index n = 0; n < rows_; ++n)
    if (std::isinf(state.lambda[n])) out.b[n] = state.alpha[n] + out.lambda[n] * mean[n];
  return out;
}

void MarkovSolver::use(const SolverState& state) {
  if (lambda_.size() == rows_ && lambda_ == state.lambda) return;
  if (!factorise(state.lambda)) throw_singular();
}

MarkovSolver MarkovSolver::with_rows(const SolverState& kept, const DesignRows& others, Vector& b) const {
  const SolverState state = finite(kept);
  const Index more = others.size();
  auto all = std::make_shared<DesignRows>();
  for (Index t = 0; t < prior_->size(); ++t)
    all->terms.push_back(joined((*design_)[t], others[t], rows_, more));
  MarkovSolver out(context_, prior_, std::move(all));
  out.refresh();
  Vector lambda = Vector::Zero(rows_ + more);
  lambda.head(rows_) = state.lambda;
  b = Vector::Zero(rows_ + more);
  b.head(rows_) = state.b;
  if (!out.factorise(lambda)) throw_singular();
  return out;
}

std::vector<Coefficients> MarkovSolver::coefficients(const SolverState& kept) {
  std::vector<Coefficients> out;
  if (columns_.size() == 0) return out;
  const SolverState state = finite(kept);
  use(state);
  const Index columns = columns_.size();
  const Vector beta = prior_->scale().cwiseProduct(coefficient_means(state.b).head(columns));
  const Matrix S = solve_roots(root_, Matrix::Identity(W_.cols(), W_.cols())).topLeftCorner(columns, columns);
  const Matrix covariance = prior_->scale().asDiagonal() * S * prior_->scale().asDiagonal();
  for (Index t = 0; t < prior_->size(); ++t)
    if (const Index q = (*prior_)[t].columns(), at = prior_->first_column(t); q > 0)
      out.push_back({(*prior_)[t].label(), prior_->coefficient_mean().segment(at, q) + beta.segment(at, q),
                     covariance.block(at, at, q, q)});
  return out;
}

Conditional MarkovSolver::conditional(const SolverState& state, const DesignRows& others,
                                      const ConditionalRequest& request) {
  const Index more = others.size(), T = prior_->size();
  Vector b;
  MarkovSolver joint = with_rows(state, others, b);
  Conditional out;
  out.mean = (joint.posterior_mean(b).mean + joint.prior_mean_).tail(more);
  out.variance = joint.variances_.tail(more);
  if (request.covariance) {
    std::vector<Index> rows(more);
    for (Index n = 0; n < more; ++n) rows[n] = rows_ + n;
    out.covariance = joint.covariance(rows).bottomRows(more);
    out.covariance = (0.5 * (out.covariance + out.covariance.transpose())).eval();
    out.variance = out.covariance.diagonal();
  }
  if (!request.terms) return out;
  out.term_mean = out.term_variance = Matrix::Zero(more, T);
  const Vector u = joint.coefficient_means(b);
  const bool border = u.size() > 0;
  const Vector rest = border ? Vector(b - joint.lambda_.cwiseProduct(joint.W_ * u)) : b;
  for (Index t = 0; t < T; ++t) {
    Vector mean = Vector::Zero(joint.rows_), variance = Vector::Zero(joint.rows_);
    if ((*prior_)[t].chain()) {
      const auto [first, count] = joint.blocks_of(t);
      for (const Part& part : joint.parts_) {
        const Vector own = joint.take(part, rest), lambda = joint.take(part, joint.lambda_);
        joint.put(part, part.chain.part(first, count, own), mean);
        if (!request.variance) continue;
        Vector own_variance = part.chain.part_variances(first, count);
        Matrix answers(own.size(), u.size());
        for (Index j = 0; j < u.size(); ++j)
          answers.col(j) = -part.chain.part(first, count, lambda.cwiseProduct(joint.take(part, joint.W_.col(j))));
        if (border) own_variance += times_inverse_root(answers, joint.root_).rowwise().squaredNorm();
        joint.put(part, own_variance, variance);
      }
    } else {
      const Index at = prior_->first_column(t), q = (*prior_)[t].columns();
      Matrix W = Matrix::Zero(joint.rows_, u.size());
      W.middleCols(at, q) = joint.W_.middleCols(at, q);
      if (const Field* field = (*prior_)[t].field()) {
        const Index first = columns_.size() + joint.fields_.first_node(t);
        W.middleCols(first, field->size()) = joint.W_.middleCols(first, field->size());
      }
      mean = W * u;
      if (request.variance) variance = times_inverse_root(W, joint.root_).rowwise().squaredNorm();
    }
    out.term_mean.col(t) = mean.tail(more);
    (*prior_)[t].add_prior_mean(others[t], 0, out.term_mean.col(t));
    out.term_variance.col(t) = variance.tail(more);
  }
  return out;
}

Matrix MarkovSolver::draw(const SolverState& state, const DesignRows& others, Index count) {
  const Index more = others.size();
  Vector b;
  MarkovSolver joint = with_rows(state, others, b);
  const Vector mean = joint.posterior_mean(b).mean + joint.prior_mean_;
  Matrix out = Matrix::Zero(joint.rows_, count);
  for (const Part& part : joint.parts_) {
    const Matrix own = part.chain.draw(context_, count);
    for (Index j = 0; j < count; ++j) joint.put(part, own.col(j), out.col(j));
  }
  if (joint.F_.cols() > 0) out += joint.F_ * white_noise(context_, joint.F_.cols(), count);
  return out.bottomRows(more).colwise() + mean.tail(more);
}

}  // namespace galvi
