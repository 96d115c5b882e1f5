#include "fit/marginal_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fit/importance.h"

namespace galvi {

namespace {

constexpr Index most_coefficients = 150;

/// log p(y | hyperparameters) + log prior, up to a constant. With eta = eta_0 + W d, d = theta - theta_0, the rows'
/// densities are exp(f + g d - d'W' Lambda W d / 2), and so the integral over d has a formula.
class MarginalDensity {
 public:
  MarginalDensity(const Unknowns& unknowns, HyperTable& table, const HyperPosterior& posterior)
      : unknowns_(unknowns),
        model_(unknowns.model()),
        table_(table),
        posterior_(posterior),
        mean_(unknowns.prior_mean()),
        eta_(unknowns.offset().col(0) + unknowns.W(0) * mean_),
        flat_(!table.values().array().isFinite()),
        b_(eta_.size()),
        lambda_(eta_.size()) {
    read_rows();
    scale_ = lambda_;
    gram_.noalias() = unknowns.W(0).transpose() * scale_.asDiagonal() * unknowns.W(0);
    // about the posterior mean at the mode sums of rows lose few digits
    const Matrix A = gram_ + unknowns.prior_precision();
    const Eigen::LDLT<Matrix> parts(A);
    mean_ += parts.solve(unknowns.W(0).transpose() * b_);
    eta_ = unknowns.offset().col(0) + unknowns.W(0) * mean_;
    const Vector at_mode = unknowns.prior_precision().diagonal();
    table_.set_unconstrained(posterior.place(Vector::Constant(posterior.size(), 0.1)));
    update_priors();
    const Vector beside = unknowns.prior_precision().diagonal();
    for (Index j = 0; j < beside.size(); ++j)
      if (beside[j] == at_mode[j]) fixed_.push_back(j);
    Matrix covariance(fixed_.size(), fixed_.size());
    for (Index j = 0; j < covariance.cols(); ++j) {
      const Vector column = parts.solve(Vector::Unit(beside.size(), fixed_[j]));
      for (Index i = 0; i < covariance.rows(); ++i) covariance(i, j) = column[fixed_[i]];
    }
    unit_.compute(covariance);
  }

  /// The variance of the coefficients whose prior does not move with the hyperparameters, in units of that at the mode and
  /// on average over their directions, at the last place with a density.
  double spread() const {
    if (fixed_.empty()) return 1;
    Matrix Y = Matrix::Zero(mean_.size(), static_cast<Index>(fixed_.size()));
    for (Index j = 0; j < Y.cols(); ++j) Y(fixed_[j], j) = 1;
    root_.triangularView<Eigen::Lower>().solveInPlace(Y);
    return unit_.solve(Y.transpose() * Y).trace() / static_cast<double>(Y.cols());
  }

  /// -infinity where there is no density.   z: in units of the posterior's axes
  double operator()(const Vector& z) {
    const Vector x = posterior_.place(z);
    if (!posterior_.in_range(x)) return -infinity;
    table_.set_unconstrained(x);
    if (!(table_.values().array().isFinite() || flat_).all()) return -infinity;
    try {
      update_priors();
      model_.update_likelihood(table_.values());
      const double out = table_.log_prior() + unknowns_.log_prior(mean_) + read_rows() + integral();
      return std::isfinite(out) ? out : -infinity;
    } catch (const std::domain_error&) {  // the distribution does not exist with these parameters
      return -infinity;
    }
  }

 private:
  void update_priors() {
    for (const auto& part : model_.priors()) part.prior->update(table_.values());
  }

  /// sum_n f_n, and the rows' b and lambda, at eta_0.
  double read_rows() {
    const Data& data = model_.data();
    double sum = 0, f[5];
    for (Index n = 0; n < eta_.size(); ++n) {
      const double weight = data.weight[n];
      b_[n] = lambda_[n] = 0;
      if (weight == 0) continue;
      model_.likelihood().derivatives(data[n], eta_[n], f);
      sum += weight * f[0];
      b_[n] = weight * f[1];
      lambda_[n] = -weight * f[2];
    }
    return sum;
  }

  /// log of the integral over d, without 2 pi.
  double integral() {
    constexpr double same = 1e-12;
    Matrix A = unknowns_.prior_precision();
    Vector g = A * (unknowns_.prior_mean() - mean_) + unknowns_.W(0).transpose() * b_;
    const double ratio = lambda_.sum() / scale_.sum();
    if ((lambda_ - ratio * scale_).cwiseAbs().maxCoeff() <= same * lambda_.maxCoeff())
      A += ratio * gram_;
    else
      A.noalias() += unknowns_.W(0).transpose() * lambda_.asDiagonal() * unknowns_.W(0);
    const Eigen::LLT<Eigen::Ref<Matrix>> root(A);
    if (root.info() != Eigen::Success) return -infinity;
    root.matrixL().solveInPlace(g);
    root_ = A.triangularView<Eigen::Lower>();
    return 0.5 * g.squaredNorm() - A.diagonal().array().log().sum();
  }

  const Unknowns& unknowns_;
  LatentGaussianModel& model_;
  HyperTable& table_;
  const HyperPosterior& posterior_;
  Vector mean_;                                       // theta_0
  Vector eta_;                                        // eta_0
  const Eigen::Array<bool, Eigen::Dynamic, 1> flat_;  // hyperparameters that are infinite
  Vector b_, lambda_, scale_;
  Matrix gram_;               // W' diag(scale) W
  std::vector<Index> fixed_;  // coefficients whose prior does not move
  Matrix root_;               // of the coefficients' precision
  Eigen::LDLT<Matrix> unit_;  // the covariance of those coefficients at the mode
};

}  // namespace

std::optional<MarginalStates> marginal_states(LatentGaussianModel& model, HyperTable& table,
                                              const HyperPosterior& posterior) {
  constexpr Index most_states = 100;
  const Index m = posterior.size();
  const std::optional<Unknowns> unknowns = Unknowns::of(model, most_coefficients);
  if (!unknowns) return std::nullopt;
  MarginalDensity density(*unknowns, table, posterior);
  const auto log_density = [&](const Matrix& Z) {
    Vector out(Z.rows());
    for (Index s = 0; s < Z.rows(); ++s) {
      if (s % 64 == 0) model.context().monitor.poll();
      out[s] = density(Z.row(s).transpose());
    }
    return out;
  };
  ImportanceControl control;
  control.points = m > 4 ? 2000 : 1000;
  control.rounds = 8;
  const std::optional<ImportancePoints> found =
      importance_points(model.context(), {Vector::Zero(m), Matrix::Identity(m, m)}, log_density, control);
  if (!found || !found->believed()) return std::nullopt;

  // Few states, drawn in proportion to probability and half of it to the variance there: it has a long tail, which few
  // states have to show. Each weighs what it was drawn too seldom. Systematic, from the narrowest to the widest.
  const Index S = found->X.rows();
  Vector share(S);
  for (Index s = 0; s < S; ++s)
    share[s] = density(found->X.row(s).transpose()) > -infinity ? density.spread() : 0;
  share = (0.5 + 0.5 * share.array() / share.dot(found->weight)).matrix();
  std::vector<Index> order(S);
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return share[a] < share[b]; });
  MarginalStates out{Matrix(most_states + 1, m), Vector(most_states + 1)};
  out.z.row(0).setZero();
  out.weight[0] = 1;
  Index drawn = 0;
  double below = 0;
  for (const Index s : order) {
    below += found->weight[s] * share[s];
    for (; drawn < most_states && drawn + 0.5 <= below * most_states; ++drawn) {
      out.z.row(drawn + 1) = found->X.row(s);
      out.weight[drawn + 1] = 1 / share[s];
    }
  }
  out.z.conservativeResize(drawn + 1, m);
  out.weight.conservativeResize(drawn + 1);
  out.weight /= out.weight.sum();
  return out;
}

}  // namespace galvi
