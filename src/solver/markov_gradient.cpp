// The gradient of the bound in the hyperparameters.
#include <cmath>

#include "prior/chain_term.h"
#include "solver/markov.h"
#include "solver/small_root.h"

namespace galvi {

namespace {

// Relative change of the sites for derivatives by differences of fourth order: its fourth power, and the rounding
// error of a difference divided by it, are both about 1e-12.
constexpr double relative_move = 1e-3;

}  // namespace

void MarkovSolver::add_chain_gradient(double weight, const std::vector<CentredChain::Quadratic>& forms,
                                      VectorRef hyper) const {
  for (const Part& part : parts_) {
    context_.monitor.poll();
    std::vector<CentredChain::Quadratic> own;
    for (const auto& form : forms) own.push_back({form.weight, take(part, form.x)});
    const Vector lambda = take(part, lambda_);
    for (Index j = 0; j < F_.cols(); ++j) own.push_back({-weight, lambda.cwiseProduct(take(part, F_.col(j)))});
    part.chain.add_gradient(weight, std::move(own), hyper);
    for_shared([&](Index t, Index r, Index block) {
      Vector by_factor = Vector::Zero(rows_);
      put(part, part.chain.scale_gradient(block), by_factor);
      (*prior_)[t].chain()->add_factor_gradient((*design_)[t].kernel, r, by_factor, hyper);
    });
  }
}

// (Lambda - Lambda V Lambda) W = Lambda T S^-1 P
Matrix MarkovSolver::decided_columns() const {
  return lambda_.asDiagonal() * F_ * solve_root(root_, Matrix(border_precision().asDiagonal()));
}

// K, the covariance of the fields' nodes.   L x L
Matrix MarkovSolver::node_covariance() const {
  const Index L = fields_.size();
  const Matrix S = solve_roots(root_, Matrix::Identity(root_.rows(), root_.rows())).bottomRightCorner(L, L);
  return root_of_fields_ * S * root_of_fields_.transpose();
}

Vector MarkovSolver::nodes(const Vector& border) const { return root_of_fields_ * border.tail(fields_.size()); }

// d bound / dC = sym(u alpha') + (I - Lambda V) diag(g_v + lambda / 2) (I - V Lambda) - Pi / 2, Pi = Lambda - Lambda V
// Lambda, u = (I - Lambda V)(g - (alpha - Lambda m) / 2). At the optimum u = alpha / 2 and the second part is zero;
// elsewhere it is the derivative of Pi as lambda moves along g_v + lambda / 2. For fields see sparse_gradient.cpp.
void MarkovSolver::gradient(const SiteGradient& site, VectorRef hyper) const {
  Vector u = 0.5 * site.alpha;
  std::vector<CentredChain::Quadratic> forms;
  if (site.optimal) {
    forms.push_back({0.5, site.alpha});
  } else {
    const Vector w = site.d_mean - 0.5 * (site.alpha - lambda_.cwiseProduct(site.mean));
    u = w - lambda_.cwiseProduct(apply_covariance(w));
    forms.push_back({0.25, site.alpha + u});
    forms.push_back({-0.25, site.alpha - u});
  }
  add_chain_gradient(-0.5, forms, hyper);
  const bool border = W_.cols() > 0;
  Matrix G = u * (site.alpha.transpose() * W_) + site.alpha * (u.transpose() * W_);  // d bound / dW
  if (border) G -= decided_columns();
  const bool with_fields = fields_.size() > 0;
  Matrix by_nodes;  // -K / 2 + K'
  if (with_fields) by_nodes = -0.5 * node_covariance();
  if (!site.optimal) {
    const Vector direction = site.d_variance + 0.5 * lambda_;
    const double largest = direction.cwiseProduct(variances_).cwiseAbs().maxCoeff();
    if (largest > 0) {
      const double h = relative_move / largest;
      MarkovSolver near(*this);
      for (const auto& [steps, share] : {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
        if (!near.factorise(lambda_ + steps * h * direction)) throw_singular();
        near.add_chain_gradient(share / (12 * h), {}, hyper);
        if (border) G += 2 * share / (12 * h) * near.decided_columns();
        if (with_fields) by_nodes += share / (12 * h) * near.node_covariance();
      }
    }
  }
  if (const Index q = columns_.size(); q > 0) {
    ColumnGradients by_column(*prior_, *design_, 1);
    by_column.add(0, 0, W_.leftCols(q), G.leftCols(q), Vector::Zero(rows_));
    by_column.finish(hyper);
  }
  if (!with_fields) return;
  const Vector z = nodes(coefficient_means(site.b));
  const Vector p = site.optimal ? Vector(Vector::Zero(z.size()))
                                : nodes(coefficient_means(site.d_mean - site.alpha));
  const auto entry = [&](Index i, Index j, Index) {
    return by_nodes(i, j) - 0.5 * (z[i] * z[j] + p[i] * z[j] + z[i] * p[j]);
  };
  fields_.add_gradient(context_, entry, hyper);
}

}  // namespace galvi
