#include "solver/centred_chain.h"

#include <cmath>

#include "numeric/dense.h"
#include "solver/small_root.h"

namespace galvi {

namespace {

using Root = Eigen::LLT<Matrix>;

double half_log_det(const Matrix& L) { return L.diagonal().array().log().sum(); }

}  // namespace

CentredChain::CentredChain(std::unique_ptr<Chain> chain, std::vector<BlockWeights> centres)
    : chain_(std::move(chain)), centres_(std::move(centres)), centre_of_(chain_->blocks(), -1) {
  for (std::size_t c = 0; c < centres_.size(); ++c) centre_of_[centres_[c].block] = static_cast<Index>(c);
}

CentredChain::CentredChain(const CentredChain& other)
    : chain_(other.chain_->clone()), centres_(other.centres_), centre_of_(other.centre_of_),
      prior_means_(other.prior_means_), prior_spread_(other.prior_spread_), columns_(other.columns_),
      log_det_(other.log_det_), conditions_(other.conditions_), of_means_(other.of_means_),
      answers_(other.answers_), of_columns_(other.of_columns_), F_(other.F_), sign_(other.sign_) {}

Vector CentredChain::level(Index c) const {
  const ChainBlock& block = chain_->block(centres_[c].block);
  return block.scale.size() > 0 ? block.scale : Vector::Ones(rows());
}

Vector CentredChain::centred(Index c, const Vector& x) const {
  return x - centres_[c].weight * level(c).dot(x);
}

void CentredChain::refresh() {
  chain_->refresh();
  const Index count = static_cast<Index>(centres_.size());
  prior_means_.resize(rows(), count);
  columns_.resize(rows(), count);
  prior_spread_.resize(count);
  for (Index c = 0; c < count; ++c) {
    prior_means_.col(c) = chain_->prior_product(centres_[c]);
    const double s = prior_spread_[c] = centres_[c].weight.dot(prior_means_.col(c));
    if (s > 0)
      columns_.col(c) = (prior_means_.col(c) / s - level(c)) * std::sqrt(s);
    else
      columns_.col(c).setZero();
  }
}

bool CentredChain::factorise(const Vector& lambda) {
  if (!chain_->factorise(lambda)) return false;
  log_det_ = chain_->log_det();
  const Index count = static_cast<Index>(centres_.size());
  F_.resize(rows(), 2 * count);
  sign_.resize(2 * count);
  conditions_.resize(rows(), count);
  of_means_.resize(count, count);
  if (count == 0) return true;
  for (Index c = 0; c < count; ++c) {
    const Chain::Solution one = chain_->solve_for(centres_[c], true);
    conditions_.col(c) = one.mean;
    for (Index k = 0; k < count; ++k) of_means_(k, c) = centres_[k].weight.dot(one.parts.col(centres_[k].block));
  }
  // a process without variance has no condition
  for (Index c = 0; c < count; ++c)
    if (!(prior_spread_[c] > 0)) of_means_(c, c) = 1;
  const Root means(0.5 * (of_means_ + of_means_.transpose()));
  if (means.info() != Eigen::Success) return false;
  of_means_ = means.matrixL();
  answers_.resize(rows(), count);
  for (Index c = 0; c < count; ++c) answers_.col(c) = chain_->residual(columns_.col(c));
  const Matrix seen = conditions_.transpose() * lambda.asDiagonal() * columns_;
  answers_ += conditions_ * means.solve(seen);
  of_columns_ = Matrix::Identity(count, count) + columns_.transpose() * lambda.asDiagonal() * answers_;
  const Root u(0.5 * (of_columns_ + of_columns_.transpose()));
  if (u.info() != Eigen::Success) return false;
  of_columns_ = u.matrixL();
  F_ << times_inverse_root(conditions_, of_means_), times_inverse_root(answers_, of_columns_);
  sign_ << -Vector::Ones(count), Vector::Ones(count);
  log_det_ += 2 * (half_log_det(of_means_) + half_log_det(of_columns_));
  for (Index c = 0; c < count; ++c)
    if (prior_spread_[c] > 0) log_det_ -= std::log(prior_spread_[c]);
  return true;
}

// C of a centred block: that of the process less C a a'C / s, plus the column's square.
Vector CentredChain::prior_variances() const {
  Vector out = Vector::Zero(rows());
  for (Index b = 0; b < chain_->blocks(); ++b) {
    out += chain_->prior_variances(b);
    const Index c = centre_of_[b];
    if (c < 0 || !(prior_spread_[c] > 0)) continue;
    out += columns_.col(c).cwiseAbs2() - prior_means_.col(c).cwiseAbs2() / prior_spread_[c];
  }
  return out.cwiseMax(0.0);
}

Vector CentredChain::variances() const {
  Vector out = chain_->variances();
  if (sign_.size() > 0) out += F_.cwiseAbs2() * sign_;
  return out.cwiseMax(0.0);
}

CentredChain::Solution CentredChain::solve(const Vector& b) const {
  if (centres_.empty()) {
    Chain::Solution found = chain_->solve(b);
    return {std::move(found.mean), std::move(found.alpha)};
  }
  const Vector& lambda = chain_->lambda();
  const Vector u = solve_roots(of_columns_, answers_.transpose() * b);
  const Vector rest = b - lambda.cwiseProduct(columns_ * u);
  const Vector condition = conditions_ * solve_roots(of_means_, conditions_.transpose() * rest);
  const Chain::Solution found = chain_->solve(rest);
  return {found.mean - condition + columns_ * u, found.alpha + lambda.cwiseProduct(condition)};
}

Vector CentredChain::residual(const Vector& y) const {
  Vector out = chain_->residual(y);
  if (sign_.size() > 0)
    out -= F_ * sign_.cwiseProduct(F_.transpose() * chain_->lambda().cwiseProduct(y));
  return out;
}

Vector CentredChain::covariance(const Vector& x) const {
  Vector out = chain_->solve(x).mean;
  if (sign_.size() > 0) out += F_ * sign_.cwiseProduct(F_.transpose() * x);
  return out;
}

Vector CentredChain::prior_product(const Vector& x) const {
  if (centres_.empty()) return chain_->prior_product({Chain::all, x});
  Vector out = Vector::Zero(rows());
  for (Index b = 0; b < chain_->blocks(); ++b) {
    const Index c = centre_of_[b];
    if (c < 0) {
      out += chain_->prior_product({b, x});
    } else {
      const Vector Cx = chain_->prior_product({b, centred(c, x)});
      out += Cx - level(c) * centres_[c].weight.dot(Cx);
    }
  }
  return out;
}

// (X + sum_j s_j F_j F_j') o (Y + sum_k s_k G_k G_k')
Vector CentredChain::squared_covariance(const Vector& x) const {
  Vector out = chain_->squared_covariance(x);
  for (Index j = 0; j < sign_.size(); ++j) {
    const auto F = F_.col(j);
    out += 2 * sign_[j] * F.cwiseProduct(chain_->solve(F.cwiseProduct(x)).mean);
  }
  return out + low_rank_hadamard(F_, sign_, F_, sign_, x);
}

double CentredChain::prior_form(const Vector& x) const {
  if (centres_.empty()) return chain_->prior_form({Chain::all, x});
  double out = 0;
  for (Index b = 0; b < chain_->blocks(); ++b)
    out += chain_->prior_form({b, centre_of_[b] < 0 ? x : centred(centre_of_[b], x)});
  return out;
}

double CentredChain::covariance_form(const Vector& x) const {
  double out = chain_->covariance_form(x);
  if (sign_.size() > 0) out += sign_.dot((F_.transpose() * x).cwiseAbs2());
  return out;
}

Chain::SquaredForms CentredChain::squared_forms(const Vector& x) const {
  Chain::SquaredForms out = chain_->squared_forms(x);
  const Index count = static_cast<Index>(centres_.size());
  if (count == 0) return out;
  Matrix G(rows(), 2 * count);
  for (Index c = 0; c < count; ++c)
    G.col(c) = prior_spread_[c] > 0 ? Vector(prior_means_.col(c) / std::sqrt(prior_spread_[c]))
                                    : Vector(Vector::Zero(rows()));
  G.rightCols(count) = columns_;
  for (Index j = 0; j < 2 * count; ++j) {
    const Vector Fx = F_.col(j).cwiseProduct(x);
    out.covariance += 2 * sign_[j] * chain_->covariance_form(Fx);
    out.prior += sign_[j] * (chain_->covariance_form(G.col(j).cwiseProduct(x)) + chain_->prior_form({Chain::all, Fx}));
  }
  out.covariance += low_rank_form(F_, sign_, F_, sign_, x);
  out.prior += low_rank_form(G, sign_, F_, sign_, x);
  return out;
}

namespace {

Vector sum_of(const Chain::Solution& found, Index first, Index count) {
  return found.parts.middleCols(first, count).rowwise().sum();
}

}  // namespace

Vector CentredChain::part(Index first, Index count, const Vector& x) const {
  const Vector& lambda = chain_->lambda();
  if (centres_.empty()) return sum_of(chain_->solve(x, true), first, count);
  const Vector u = solve_roots(of_columns_, answers_.transpose() * x);
  const Vector rest = x - lambda.cwiseProduct(columns_ * u);
  const Vector multiplier = solve_roots(of_means_, conditions_.transpose() * rest);
  Vector out = sum_of(chain_->solve(rest, true), first, count);
  for (std::size_t c = 0; c < centres_.size(); ++c)
    out -= multiplier[c] * sum_of(chain_->solve_for(centres_[c], true), first, count);
  for (Index b = first; b < first + count; ++b)
    if (const Index c = centre_of_[b]; c >= 0) out += columns_.col(c) * u[c];
  return out;
}

Vector CentredChain::part_variances(Index first, Index count) const {
  Vector out = chain_->variances(first, count);
  const Index centres = static_cast<Index>(centres_.size());
  if (centres == 0) return out;
  Matrix conditions(rows(), centres), answers(rows(), centres);
  for (Index c = 0; c < centres; ++c) conditions.col(c) = sum_of(chain_->solve_for(centres_[c], true), first, count);
  const Vector& lambda = chain_->lambda();
  const Matrix seen = solve_roots(of_means_, conditions_.transpose() * lambda.asDiagonal() * columns_);
  for (Index c = 0; c < centres; ++c)
    answers.col(c) = -sum_of(chain_->solve(lambda.cwiseProduct(columns_.col(c)), true), first, count);
  answers += conditions * seen;
  for (Index b = first; b < first + count; ++b)
    if (const Index c = centre_of_[b]; c >= 0) answers.col(c) += columns_.col(c);
  out -= times_inverse_root(conditions, of_means_).rowwise().squaredNorm();
  out += times_inverse_root(answers, of_columns_).rowwise().squaredNorm();
  return out.cwiseMax(0.0);
}

// With Pi = Lambda - Lambda V_0 Lambda of the chain and H x = x - v a'x, the covariance of a centred block is
// H C H', and
//   H'Pi H = Pi - a r' - r a' + (v'r) a a',   r = Pi v.
void CentredChain::add_gradient(double weight, std::vector<Quadratic> forms, VectorRef hyper) const {
  const Vector& lambda = chain_->lambda();
  for (Index j = 0; j < sign_.size(); ++j)
    forms.push_back({-weight * sign_[j], lambda.cwiseProduct(F_.col(j))});
  chain_->start_gradient();
  if (weight != 0) chain_->add_log_det_gradient(weight);
  if (centres_.empty()) {
    for (const Quadratic& form : forms) chain_->add_quadratic_gradient(form.weight, {Chain::all, form.x});
  } else {
    for (Index b = 0; b < chain_->blocks(); ++b) {
      const Index c = centre_of_[b];
      for (const Quadratic& form : forms)
        chain_->add_quadratic_gradient(form.weight, {b, c < 0 ? form.x : centred(c, form.x)});
      if (c < 0 || weight == 0) continue;
      const Vector v = level(c), &a = centres_[c].weight;
      const Vector r = lambda.cwiseProduct(chain_->residual(v));
      const double size = r.norm() > 0 ? std::sqrt(r.norm() / a.norm()) : 1;
      chain_->add_quadratic_gradient(-0.5 * weight, {b, size * a + r / size});
      chain_->add_quadratic_gradient(0.5 * weight, {b, size * a - r / size});
      chain_->add_quadratic_gradient(weight * v.dot(r), {b, a});
    }
  }
  chain_->finish_gradient(hyper);
}

Matrix CentredChain::draw(Context& context, Index count) const {
  const std::vector<Matrix> parts = chain_->draw(context, count);
  Matrix out = parts[0];
  for (std::size_t b = 1; b < parts.size(); ++b) out += parts[b];
  const Index centres = static_cast<Index>(centres_.size());
  if (centres == 0) return out;
  Matrix means(centres, count);
  for (Index c = 0; c < centres; ++c) means.row(c) = centres_[c].weight.transpose() * parts[centres_[c].block];
  out -= conditions_ * solve_roots(of_means_, means);
  out += times_inverse_root(answers_, of_columns_) * white_noise(context, centres, count);
  return out;
}

}  // namespace galvi
