#include "fit/marginal_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fit/importance.h"

namespace galvi {

namespace {

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
    const Eigen::LLT<Matrix> parts(A);
    root_ = parts.matrixL();
    mean_ += parts.solve(unknowns.W(0).transpose() * b_);
    eta_ = unknowns.offset().col(0) + unknowns.W(0) * mean_;
    const Vector at_mode = unknowns.prior_precision().diagonal();
    table_.set_unconstrained(posterior.place(Vector::Constant(posterior.size(), 0.1)));
    unknowns.update_priors(table_.values());
    const Vector beside = unknowns.prior_precision().diagonal();
    for (Index j = 0; j < beside.size(); ++j)
      if (beside[j] == at_mode[j]) fixed_.push_back(j);
    unit_.compute(covariance());
    if (unit_.info() != Eigen::Success) fixed_.clear();
  }

  /// The covariance of the coefficients whose prior does not move with the hyperparameters, in units of that at the mode,
  /// at the last place with a density: its diagonal and, where these are few, what is below it.
  Vector spread() const {
    constexpr Index most = 4;
    const Index p = variances();
    Matrix V = covariance();
    unit_.matrixL().solveInPlace(V);
    V.transposeInPlace();
    unit_.matrixL().solveInPlace(V);
    if (p > most) return V.diagonal();
    Vector out(p * (p + 1) / 2);
    out.head(p) = V.diagonal();
    for (Index j = 0, at = p; j < p; ++j)
      for (Index i = j + 1; i < p; ++i) out[at++] = V(i, j);
    return out;
  }
  /// How many of them are variances.
  Index variances() const { return static_cast<Index>(fixed_.size()); }

  /// -infinity where the density is zero.   z: in units of the posterior's axes
  double operator()(const Vector& z) {
    const Vector x = posterior_.place(z);
    if (!posterior_.in_range(x)) return -infinity;
    table_.set_unconstrained(x);
    if (!(table_.values().array().isFinite() || flat_).all()) return -infinity;
    try {
      unknowns_.update_priors(table_.values());
      model_.update_likelihood(table_.values());
      const double out = table_.log_prior() + unknowns_.log_prior(mean_) + read_rows() + integral();
      return std::isfinite(out) ? out : -infinity;
    } catch (const std::domain_error&) {  // the distribution does not exist with these parameters
      return -infinity;
    }
  }

 private:
  /// Of the coefficients whose prior does not move, by the root of the precision.
  Matrix covariance() const {
    Matrix Y = Matrix::Zero(mean_.size(), variances());
    for (Index j = 0; j < Y.cols(); ++j) Y(fixed_[j], j) = 1;
    root_.triangularView<Eigen::Lower>().solveInPlace(Y);
    return Y.transpose() * Y;
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
  Eigen::LLT<Matrix> unit_;   // the covariance of those coefficients at the mode
};

/// The weights nearest to w, by the Kullback-Leibler divergence, with which the columns of H have the mean zero, as far as
/// a ridge allows: w exp(H l) / sum, where l minimises log sum w exp(H l) + ridge l'l / 2.
Vector balanced(const Vector& w, const Matrix& H) {
  constexpr int most_steps = 20;
  constexpr double ridge = 1e-3, enough = 1e-10;
  Vector l = Vector::Zero(H.cols()), out;
  const auto value = [&](const Vector& at) {
    const Vector t = H * at;
    const double top = t.maxCoeff();
    out = w.array() * (t.array() - top).exp();
    const double sum = out.sum();
    out /= sum;
    return top + std::log(sum) + 0.5 * ridge * at.squaredNorm();
  };
  double now = value(l);
  for (int step = 0; step < most_steps; ++step) {
    const Vector mean = H.transpose() * out, slope = mean + ridge * l;
    Matrix curvature = H.transpose() * out.asDiagonal() * H - mean * mean.transpose();
    curvature.diagonal().array() += ridge;
    const Vector move = -curvature.llt().solve(slope);
    if (!(-slope.dot(move) > enough)) break;
    double size = 1, next = value(l + move);
    while (!(next < now) && size > 1e-3) next = value(l + (size /= 2) * move);
    if (!(next < now)) break;
    l += size * move;
    now = next;
  }
  value(l);
  return out;
}

/// Points of the hyperparameters, and of each the spread of the coefficients there.
struct SpreadPoints {
  ImportancePoints points;
  Matrix spread;  // S x pairs
  Vector wide;    // by how much the points are more than their probability, S
};

/// Points in proportion to the density and, where this differs much, to how wide the posterior of the coefficients is: it
/// then has a long tail, which few states have to show. They begin where points by the density alone end. Empty where they
/// are hopeless.
std::optional<SpreadPoints> spread_points(MarginalDensity& density, Index m, Context& context) {
  const Index p = density.variances();
  SpreadPoints out;
  const auto look = [&](const Matrix& Z) {
    Vector f(Z.rows());
    for (Index s = 0; s < Z.rows(); ++s) {
      if (s % 64 == 0) context.monitor.poll();
      f[s] = density(Z.row(s).transpose());
      const Vector own = density.spread();
      if (s == 0) out.spread.setZero(Z.rows(), own.size());
      if (own.allFinite())
        out.spread.row(s) = own.transpose();
      else
        f[s] = -infinity;
    }
    return f;
  };
  ImportanceControl control;
  control.points = m <= 4 ? 300 : m <= 6 ? 1000 : 2000;
  control.rounds = control.patience = 4;
  std::optional<ImportancePoints> found =
      importance_points(context, {Vector::Zero(m), Matrix::Identity(m, m)}, look, control);
  if (!found || found->hopeless()) return std::nullopt;
  out.wide = Vector::Ones(found->X.rows());
  constexpr double narrow = 0.5;  // sd of the variances, as a share of their mean
  const Vector variance = out.spread.leftCols(p).rowwise().sum();
  const double mean = variance.dot(found->weight);
  if ((variance.array() - mean).square().matrix().dot(found->weight) > narrow * narrow * mean * mean) {
    found = importance_points(
        context, std::move(found->next),
        [&](const Matrix& Z) {
          const Vector f = look(Z);
          out.wide = 1 + out.spread.leftCols(p).rowwise().mean().array();
          return Vector(f.array() + out.wide.array().log());
        },
        control);
    if (!found || found->hopeless()) return std::nullopt;
  }
  out.points = std::move(*found);
  return out;
}

}  // namespace

std::optional<MarginalStates> marginal_states(LatentGaussianModel& model, HyperTable& table,
                                              const HyperPosterior& posterior) {
  constexpr Index most_states = 100;
  // a factorisation for each of thousand points; and with many groups the variances have no long tails
  constexpr Index most_coefficients = 100;
  const Index m = posterior.size();
  const std::optional<Unknowns> unknowns = Unknowns::of(model, most_coefficients);
  if (!unknowns) return std::nullopt;
  MarginalDensity density(*unknowns, table, posterior);
  const Vector at_mode = density.spread();
  std::optional<SpreadPoints> found = spread_points(density, m, model.context());
  if (!found) return std::nullopt;
  const auto& [points, spread, wide] = *found;
  const Index S = points.X.rows(), p = density.variances();

  // The mode, and a systematic sample from the narrowest to the widest.
  std::vector<Index> order(S);
  std::iota(order.begin(), order.end(), Index{0});
  const Vector width = spread.leftCols(p).rowwise().sum();
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return width[a] < width[b]; });
  MarginalStates out{Matrix::Zero(most_states + 1, m), Vector(most_states + 1)};
  Matrix H(most_states + 1, spread.cols());
  out.weight[0] = wide.maxCoeff() > 1 ? 0.5 : 1;  // wide is two there
  H.row(0) = at_mode.transpose();
  Index states = 1;
  double below = 0;
  for (const Index s : order) {
    below += points.weight[s];
    for (; states <= most_states && states - 0.5 <= below * most_states; ++states) {
      out.z.row(states) = points.X.row(s);
      out.weight[states] = 1 / wide[s];
      H.row(states) = spread.row(s);
    }
  }

  // What is left of the sample's noise in the variances is taken out of the weights.
  const Vector own = points.weight.cwiseQuotient(wide);
  const Vector mean = spread.transpose() * own / own.sum();
  H.rowwise() -= mean.transpose();
  if (p > 0) H /= mean.head(p).mean();
  out.z.conservativeResize(states, m);
  out.weight = balanced(out.weight.head(states), H.topRows(states));
  return out;
}

}  // namespace galvi
