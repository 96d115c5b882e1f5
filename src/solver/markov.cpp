#include "solver/markov.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "numeric/dense.h"
#include "numeric/parallel.h"
#include "prior/centre.h"
#include "prior/chain_term.h"
#include "solver/small_root.h"

namespace galvi {

namespace {

/// How the rows of chain terms are divided: as all of them have the same groups, or not at all.
bool same_groups(const Prior& prior, const DesignRows& design) {
  const Eigen::VectorXi* group = nullptr;
  for (Index t = 0; t < prior.size(); ++t) {
    if (!prior[t].chain()) continue;
    if (prior[t].chain()->shared() > 0) return false;
    const Eigen::VectorXi& own = design[t].kernel.group;
    if (!group) group = &own;
    if (own.size() != group->size() || own != *group) return false;
  }
  return group && group->size() > 0;
}

Index count_of(const Eigen::VectorXi& group) { return group.size() > 0 ? group.maxCoeff() : 1; }

/// A node of a chain: a row of the data, or a row of a term's centre alone.
struct Node {
  double at;
  Index row;            // -1: of a centre
  Index term = -1;      // whose centre
  Index centre = -1;    // the number there
  Index group = -1;     // from 0, of that
};

}  // namespace

MarkovSolver::MarkovSolver(Context& context, std::shared_ptr<Prior> prior, std::shared_ptr<const DesignRows> design)
    : Solver(context, std::move(prior), std::move(design)),
      columns_(context, *prior_, *design_),
      fields_(*prior_, *design_) {
  for (const auto& term : *prior_)
    if (!term->chain() && ((term->columns() == 0 && !term->field()) || term->moves_field_design() ||
                           term->has_extra_variances()))
      throw std::invalid_argument("term " + term->label() + " is no Markov process, set of columns or field");
  add_chains();
}

void MarkovSolver::add_chains() {
  const Prior& prior = *prior_;
  const DesignRows& design = *design_;
  const bool apart = same_groups(prior, design);
  std::vector<Index> terms;
  for (Index t = 0; t < prior.size(); ++t)
    if (prior[t].chain()) terms.push_back(t);
  if (terms.empty()) throw std::invalid_argument("the solver \"markov\" needs a Markov process");
  const KernelRows& first = design[terms[0]].kernel;
  for (const Index t : terms)
    if (design[t].kernel.inputs != first.inputs)
      throw std::invalid_argument("Markov processes beside each other need the same input");

  if (apart && (first.group.array() < 1).any()) throw std::invalid_argument("every row of a process needs a group");
  const Index chains = apart ? count_of(first.group) : 1;
  std::vector<std::vector<Node>> nodes(chains);
  for (Index n = 0; n < rows_; ++n) nodes[apart ? first.group[n] - 1 : 0].push_back({first.inputs(n, 0), n});
  for (const Index t : terms) {
    const Term& term = prior[t];
    if (!term.centred() || term.chain()->is_centre(design[t].kernel)) continue;
    const KernelRows& rows = term.centre()->rows;
    for (Index r = 0; r < rows.inputs.rows(); ++r) {
      const Index group = group_of(rows, r);
      if (!apart || group < chains) nodes[apart ? group : 0].push_back({rows.inputs(r, 0), -1, t, r, group});
    }
  }
  for (Index g = 0; g < chains; ++g) {
    std::vector<Node>& own = nodes[g];
    std::stable_sort(own.begin(), own.end(), [](const Node& a, const Node& b) { return a.at < b.at; });
    const Index N = static_cast<Index>(own.size());
    Vector at(N);
    std::vector<Index> rows(N);
    for (Index i = 0; i < N; ++i) {
      at[i] = own[i].at;
      rows[i] = own[i].row;
    }
    if (N == 0) continue;
    std::vector<ChainBlock> blocks;
    std::vector<BlockWeights> centres;
    std::vector<Index> block_terms;
    for (const Index t : terms) {
      const Term& term = prior[t];
      const ChainTerm& processes = *term.chain();
      const KernelRows& read = design[t].kernel;
      for (Index r = 0; r < processes.shared(); ++r) {
        // refresh() has the factors
        blocks.push_back({&processes.space(r), Vector::Zero(N), true});
        block_terms.push_back(t);
      }
      if (processes.shared() > 0) continue;
      const bool grouped = read.group.size() > 0;
      const Index here = grouped && !apart ? count_of(read.group) : 1;
      for (Index k = 0; k < here; ++k) {
        const Index group = apart ? g : k;
        ChainBlock block{&processes.space(group), Vector()};
        const bool some = grouped && !apart;
        if (some || read.by.size() > 0 || term.centred()) {
          block.scale = Vector::Zero(N);
          for (Index i = 0; i < N; ++i) {
            const Index n = own[i].row;
            if (n >= 0 && (!some || read.group[n] == k + 1)) block.scale[i] = read.by.size() > 0 ? read.by[n] : 1;
            if (n < 0 && own[i].term == t && own[i].group == (grouped ? group : 0)) block.scale[i] = 1;
          }
          if (block.scale == Vector::Ones(N)) block.scale.resize(0);
        }
        if (term.centred()) {
          const CentreSpec& centre = *term.centre();
          const bool fitted = processes.is_centre(read);
          Vector weight = Vector::Zero(N);
          for (Index i = 0; i < N; ++i) {
            const Index r = fitted ? own[i].row : own[i].term == t ? own[i].centre : -1;
            if (r >= 0 && (!grouped || group_of(centre.rows, r) == group)) weight[i] = centre.weight[r];
          }
          if (weight.sum() > 0) centres.push_back({static_cast<Index>(blocks.size()), std::move(weight)});
        }
        blocks.push_back(std::move(block));
        block_terms.push_back(t);
      }
    }
    auto chain = make_chain(std::move(at), std::move(blocks));
    dimension_ = std::max(dimension_, chain->dimension());
    parts_.push_back({CentredChain(std::move(chain), std::move(centres)), std::move(rows)});
    block_terms_ = std::move(block_terms);
  }
}

std::pair<Index, Index> MarkovSolver::blocks_of(Index t) const {
  const auto found = std::equal_range(block_terms_.begin(), block_terms_.end(), t);
  return {found.first - block_terms_.begin(), found.second - found.first};
}

void MarkovSolver::for_shared(const std::function<void(Index t, Index r, Index block)>& visit) const {
  for (Index t = 0; t < prior_->size(); ++t) {
    const ChainTerm* term = (*prior_)[t].chain();
    for (Index r = 0; term && r < term->shared(); ++r) visit(t, r, blocks_of(t).first + r);
  }
}

Vector MarkovSolver::take(const Part& part, const Vector& x) const {
  Vector out(static_cast<Index>(part.rows.size()));
  for (Index i = 0; i < out.size(); ++i) out[i] = part.rows[i] < 0 ? 0 : x[part.rows[i]];
  return out;
}

void MarkovSolver::put(const Part& part, const Vector& own, VectorRef x) const {
  for (Index i = 0; i < own.size(); ++i)
    if (part.rows[i] >= 0) x[part.rows[i]] = own[i];
}

double MarkovSolver::row_flops() const {
  const double d = static_cast<double>(dimension_);
  return 20 * d * d * d;
}

Vector MarkovSolver::by_chain(double work, const Vector& x,
                              const std::function<Vector(const CentredChain&, const Vector&)>& f) const {
  Vector out(rows_);
  parallel_for(context_, static_cast<Index>(parts_.size()), work, [&](Index p) {
    put(parts_[p], f(parts_[p].chain, take(parts_[p], x)), out);
  });
  context_.cost.flops += work;
  return out;
}

Matrix MarkovSolver::by_chain(const Matrix& X,
                              const std::function<Vector(const CentredChain&, const Vector&)>& f) const {
  Matrix out(X.rows(), X.cols());
  for (Index j = 0; j < X.cols(); ++j) out.col(j) = by_chain(row_flops() * rows_, X.col(j), f);
  return out;
}

void MarkovSolver::refresh() {
  jitter_ = 0;
  prior_mean_ = prior_->mean(*design_);
  prior_variances_.resize(rows_);
  for_shared([&](Index t, Index r, Index block) {
    const Vector factor = (*prior_)[t].chain()->factor((*design_)[t].kernel, r);
    for (Part& part : parts_) part.chain.rescale(block, take(part, factor));
  });
  parallel_for(context_, static_cast<Index>(parts_.size()), row_flops() * rows_, [&](Index p) {
    parts_[p].chain.refresh();
    put(parts_[p], parts_[p].chain.prior_variances(), prior_variances_);
  });
  process_variance_ = rows_ > 0 ? prior_variances_.maxCoeff() : 0;
  Vector c;
  columns_.add_prior_variances(prior_variances_, c);
  const Index q = columns_.size(), L = fields_.size();
  W_.resize(rows_, q + L);
  if (q > 0) columns_.fill(0, W_.leftCols(q));
  if (L == 0) return;
  fields_.refresh();
  root_of_fields_ = fields_.whitened(context_, Matrix::Identity(L, L)).transpose();
  W_.rightCols(L) = fields_.rows() * root_of_fields_;
  prior_variances_ += W_.rightCols(L).rowwise().squaredNorm();
}

Vector MarkovSolver::border_precision() const {
  Vector out = Vector::Ones(W_.cols());
  out.head(columns_.size()) = prior_->precision();
  return out;
}

bool MarkovSolver::factorise(const Vector& lambda) {
  lambda_ = lambda;
  variances_.resize(rows_);
  const Index count = static_cast<Index>(parts_.size());
  std::vector<char> ok(count, false);
  parallel_for(context_, count, row_flops() * rows_, [&](Index p) {
    ok[p] = parts_[p].chain.factorise(take(parts_[p], lambda));
    if (ok[p]) put(parts_[p], parts_[p].chain.variances(), variances_);
  });
  context_.cost.flops += row_flops() * rows_;
  if (std::find(ok.begin(), ok.end(), false) != ok.end()) return false;
  log_det_ = 0;
  for (const Part& part : parts_) log_det_ += part.chain.log_det();
  if (W_.cols() == 0) return true;
  answers_ = by_chain(W_, [](const CentredChain& chain, const Vector& y) { return chain.residual(y); });
  Matrix S = W_.transpose() * lambda_.asDiagonal() * answers_;
  S.diagonal() += border_precision();
  S = (0.5 * (S + S.transpose())).eval();
  const Vector diagonal = S.diagonal();
  const Eigen::LLT<Matrix> factor(S);
  if (factor.info() != Eigen::Success) {
    if (null_dimension() > 0 && lambda.minCoeff() >= 0) Prior::throw_collinear();
    return false;
  }
  root_ = factor.matrixL();
  if (null_dimension() > 0) {
    const Vector variance = Matrix(factor.solve(Matrix::Identity(S.rows(), S.cols()))).diagonal();
    prior_->check_collinear(diagonal.head(columns_.size()), variance.head(columns_.size()));
  }
  F_ = times_inverse_root(answers_, root_);
  log_det_ += 2 * root_.diagonal().array().log().sum();
  variances_ += F_.rowwise().squaredNorm();
  return true;
}

Vector MarkovSolver::coefficient_means(const Vector& b) const {
  if (W_.cols() == 0) return Vector(0);
  return solve_roots(root_, answers_.transpose() * b);
}

SiteMean MarkovSolver::posterior_mean(const Vector& b) {
  SiteMean out;
  out.mean.resize(rows_);
  out.alpha.resize(rows_);
  const Vector u = coefficient_means(b);
  const Vector of_columns = W_ * u;
  const Vector rest = W_.cols() > 0 ? Vector(b - lambda_.cwiseProduct(of_columns)) : b;
  parallel_for(context_, static_cast<Index>(parts_.size()), row_flops() * rows_, [&](Index p) {
    const CentredChain::Solution own = parts_[p].chain.solve(take(parts_[p], rest));
    put(parts_[p], own.mean, out.mean);
    put(parts_[p], own.alpha, out.alpha);
  });
  if (W_.cols() > 0) out.mean += of_columns;
  // u'Sigma^-1 u of flat columns is zero: alpha is orthogonal to them
  out.squared_norm = out.alpha.dot(out.mean);
  out.rounding = std::numeric_limits<double>::epsilon() * out.alpha.cwiseAbs().dot(out.mean.cwiseAbs());
  return out;
}

// No noise is noise of this share of the prior's variance: it leaves ties a posterior.
Vector MarkovSolver::finite(const Vector& lambda) const {
  constexpr double nothing = 1e-13;
  Vector out = lambda;
  for (Index n = 0; n < rows_; ++n) {
    if (!std::isinf(lambda[n])) continue;
    const double own = prior_variances_[n];
    out[n] = 1 / (nothing * (own > 0 && std::isfinite(own) ? own : 1));
  }
  return out;
}

SiteMean MarkovSolver::condition(const Vector& lambda, const Vector& r, double& log_evidence) {
  const Vector near = finite(lambda);
  for (Index n = 0; n < rows_; ++n)
    if (std::isinf(lambda[n])) jitter_ = std::max(jitter_, 1 / near[n]);
  return Solver::condition(near, r, log_evidence);
}

double MarkovSolver::rounding() const {
  // log s_n and lambda_n v_n of every row
  const Vector shares = lambda_.cwiseProduct(variances_).cwiseAbs();
  return std::numeric_limits<double>::epsilon() * (shares.sum() + static_cast<double>(rows_));
}

Vector MarkovSolver::apply_prior(const Vector& x) const {
  Vector out = by_chain(row_flops() * rows_, x,
                        [](const CentredChain& chain, const Vector& own) { return chain.prior_product(own); });
  if (W_.cols() > 0) out += W_ * (W_.transpose() * x);
  return out;
}

Vector MarkovSolver::apply_covariance(const Vector& x) const {
  Vector out = by_chain(row_flops() * rows_, x,
                        [](const CentredChain& chain, const Vector& own) { return chain.covariance(own); });
  if (W_.cols() > 0) out += F_ * (F_.transpose() * x);
  return out;
}

// (X + sum_j F_j F_j') o (Y + sum_k G_k G_k')
Vector MarkovSolver::apply_squared_covariance(const Vector& x) const {
  Vector out = by_chain(row_flops() * rows_, x,
                        [](const CentredChain& chain, const Vector& own) { return chain.squared_covariance(own); });
  const auto product = [](const CentredChain& chain, const Vector& own) { return chain.covariance(own); };
  for (Index j = 0; j < W_.cols(); ++j) {
    const auto F = F_.col(j);
    out += 2 * F.cwiseProduct(by_chain(row_flops() * rows_, F.cwiseProduct(x), product));
  }
  const Vector one = Vector::Ones(W_.cols());
  return out + low_rank_hadamard(F_, one, F_, one, x);
}

// With X and Y of the chains, V = X + F F' and C = Y + W W'.
Distance MarkovSolver::distance(const Vector& r, const Vector& d) const {
  const bool proper = null_dimension() == 0;
  const Index q = W_.cols();
  struct Forms {
    double prior = 0, covariance = 0;  // of r with C and V
    Chain::SquaredForms squared{0, 0};  // of d
  };
  const Index count = static_cast<Index>(parts_.size());
  std::vector<Forms> own(count);
  parallel_for(context_, count, row_flops() * rows_, [&](Index p) {
    const CentredChain& chain = parts_[p].chain;
    const Vector r_own = take(parts_[p], r), d_own = take(parts_[p], d);
    Forms& out = own[p];
    out.covariance = chain.covariance_form(r_own);
    out.squared = chain.squared_forms(d_own);
    if (proper) out.prior = chain.prior_form(r_own);
    for (Index j = 0; j < q; ++j) {
      const Vector Fd = take(parts_[p], F_.col(j)).cwiseProduct(d_own);
      out.squared.covariance += 2 * chain.covariance_form(Fd);
      if (proper)
        out.squared.prior += chain.prior_form(Fd) +
                             chain.covariance_form(take(parts_[p], W_.col(j)).cwiseProduct(d_own));
    }
  });
  context_.cost.flops += row_flops() * rows_;
  Forms sum;
  for (const Forms& part : own) {
    sum.prior += part.prior;
    sum.covariance += part.covariance;
    sum.squared.prior += part.squared.prior;
    sum.squared.covariance += part.squared.covariance;
  }
  const Vector one = Vector::Ones(q);
  if (q > 0) sum.covariance += (F_.transpose() * r).squaredNorm();
  sum.squared.covariance += low_rank_form(F_, one, F_, one, d);
  const double norm = sum.covariance + 0.5 * sum.squared.covariance;
  if (!proper) return {infinity, norm};
  sum.prior += (W_.transpose() * r).squaredNorm();
  sum.squared.prior += low_rank_form(W_, one, F_, one, d);
  return {0.5 * (sum.prior + sum.squared.prior), norm};
}

Matrix MarkovSolver::covariance(const std::vector<Index>& rows) const {
  Matrix out(rows_, static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    context_.monitor.poll();
    out.col(static_cast<Index>(k)) = apply_covariance(Vector::Unit(rows_, rows[k]));
  }
  return out;
}

// The border's unknowns follow every change: those of the columns, of the chain's own columns and conditions. With
//   V = V_0 + t G^-1 t',   t = ((I - V_0 Lambda) [W, columns], V_0 conditions),
// G (minus the conditions' covariance in its last block) gains c t_n t_n' with each change, c = delta / (1 + delta
// v_n).
bool MarkovSolver::can_sweep() const {
  constexpr Index most_border = 64;
  Index border = W_.cols();
  for (const Part& part : parts_) border += 2 * static_cast<Index>(part.chain.centres().size());
  return border <= most_border;
}

void MarkovSolver::sweep(const SiteChange& change) {
  const Index q = W_.cols();
  Index p = q;
  std::vector<Index> first;
  for (const Part& part : parts_) {
    first.push_back(p);
    p += 2 * static_cast<Index>(part.chain.centres().size());
  }
  Matrix G = Matrix::Zero(p, p);
  if (q > 0) G.topLeftCorner(q, q).diagonal() = border_precision();
  struct Border {
    Matrix Y;                 // pseudo-observations
    std::vector<Index> place;  // of t's elements in G
  };
  std::vector<Border> borders;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const Part& part = parts_[g];
    const CentredChain& chain = part.chain;
    const Index N = chain.rows(), c = static_cast<Index>(chain.centres().size());
    Border own{Matrix(N, q + c), {}};
    for (Index j = 0; j < q; ++j) own.Y.col(j) = take(part, W_.col(j));
    own.Y.rightCols(c) = chain.columns();
    for (Index j = 0; j < q; ++j) own.place.push_back(j);
    for (Index j = 0; j < 2 * c; ++j) own.place.push_back(first[g] + j);
    // G of this chain at the present sites
    Matrix t(N, q + 2 * c);
    for (Index j = 0; j < q + c; ++j) t.col(j) = chain.chain().residual(own.Y.col(j));
    t.rightCols(c) = chain.conditions();
    Matrix add = Matrix::Zero(q + 2 * c, q + 2 * c);
    const Vector lambda = take(part, lambda_);
    add.topRows(q + c) = own.Y.transpose() * lambda.asDiagonal() * t;
    add.bottomLeftCorner(c, q + c) = add.topRightCorner(q + c, c).transpose();
    add.bottomRightCorner(c, c) = -chain.condition_covariance();
    for (Index j = 0; j < c; ++j) add(q + j, q + j) += 1;
    for (Index i = 0; i < add.rows(); ++i)
      for (Index j = 0; j < add.cols(); ++j) G(own.place[i], own.place[j]) += add(i, j);
    borders.push_back(std::move(own));
  }
  Matrix inverse = p > 0 ? Matrix(G.partialPivLu().inverse()) : G;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    Part& part = parts_[g];
    const std::vector<Index>& place = borders[g].place;
    part.chain.sweep(borders[g].Y, [&](Index i, double v, const Vector& t) {
      const Index n = part.rows[i];
      if (n < 0) return 0.0;
      if (i % 1024 == 0) context_.monitor.poll();
      Vector full = Vector::Zero(p);
      for (std::size_t k = 0; k < place.size(); ++k) full[place[k]] = t[static_cast<Index>(k)];
      const Vector moved = inverse * full;
      const double of_border = full.dot(moved), delta = change(n, v + of_border);
      const double c = delta / (1 + delta * v);
      inverse -= c / (1 + c * of_border) * moved * moved.transpose();
      lambda_[n] += delta;
      return delta;
    });
  }
  if (!factorise(Vector(lambda_))) throw_singular();
}

// Beside columns of much wider priors a search over whitened numbers has no common scale.
bool MarkovSolver::can_whiten() const {
  constexpr double widest = 1e8;  // variance over that of the processes
  if (rows_ > most_dense) return false;
  if (W_.size() == 0) return true;
  return W_.rowwise().squaredNorm().maxCoeff() <= widest * process_variance_;
}

Matrix MarkovSolver::whitened_design() const {
  Matrix C(rows_, rows_);
  for (Index n = 0; n < rows_; ++n)
    C.col(n) = by_chain(row_flops() * rows_, Vector::Unit(rows_, n),
                         [](const CentredChain& chain, const Vector& own) { return chain.prior_product(own); });
  // apart: beside wide priors of columns the processes would lose their digits
  const Matrix root = covariance_root(context_, std::move(C));
  Matrix out(rows_, root.cols() + W_.cols());
  out << root, W_;
  return out;
}

}  // namespace galvi
