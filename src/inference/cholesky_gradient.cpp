#include "inference/cholesky_gradient.h"

#include <cmath>
#include <limits>

#include "inference/ascent.h"
#include "inference/start.h"
#include "numeric/dense.h"
#include "numeric/lbfgs.h"

namespace galvi {

namespace {

constexpr Index panel = 128;  // columns of a triangular product at a time

template <class Body>
void for_panels(Index L, Body body) {
  for (Index begin = 0; begin < L; begin += panel) body(begin, std::min(panel, L - begin));
}

/// N x L matrix whose products with lower triangular ones skip what is zero.
class Design {
 public:
  explicit Design(Matrix values)
      : values_(std::move(values)),
        triangular_(values_.rows() == values_.cols() &&
                    values_.isLowerTriangular(std::numeric_limits<double>::min())) {}
  const Matrix& values() const { return values_; }

  /// out = A B for lower triangular B.
  void times_lower(Context& context, const Matrix& B, Matrix& out) const {
    const Index N = values_.rows(), L = values_.cols();
    out.setZero(N, B.cols());
    for_panels(L, [&](Index j, Index width) {
      const Index top = triangular_ ? j : 0;
      multiply(context, false, false, 1.0, values_.block(top, j, N - top, L - j), B.block(j, j, L - j, width),
               0.0, out.block(top, j, N - top, width));
    });
  }
  /// out = the lower triangle of A' diag(d) B; B's rows are zero where A's are.
  void crossed_lower(Context& context, const Vector& d, const Matrix& B, Matrix& out) const {
    const Index N = values_.rows(), L = values_.cols();
    out.setZero(L, L);
    for_panels(L, [&](Index j, Index width) {
      const Index top = triangular_ ? j : 0;
      const Matrix scaled = d.tail(N - top).asDiagonal() * B.block(top, j, N - top, width);
      multiply(context, true, false, 1.0, values_.block(top, j, N - top, L - j), scaled, 0.0,
               out.block(j, j, L - j, width));
    });
    out.triangularView<Eigen::StrictlyUpper>().setZero();
  }

 private:
  Matrix values_;
  bool triangular_;
};

/// Mean and factor of a whitened latent vector.
struct Whitened {
  Vector u;  // L
  Matrix S;  // L x L, lower
};

// Of the posterior of these sites: A~ = I + W~' Lambda W~ = U U' with U upper triangular, S = U^-T, u = S S' W~' b.
Whitened whitened_posterior(Context& context, const Design& design, const Vector& lambda, const Vector& b) {
  const Matrix& W = design.values();
  const Index L = W.cols();
  Matrix A;
  design.crossed_lower(context, lambda, W, A);
  A.diagonal().array() += 1;
  fill_upper(A);
  // the last row and column first, a lower triangular factor becomes an upper one
  Matrix flipped = A.reverse();
  if (!cholesky(context, flipped)) return {Vector::Zero(L), Matrix::Identity(L, L)};
  flipped.triangularView<Eigen::StrictlyUpper>().setZero();
  invert_lower(context, flipped);
  Whitened out;
  out.S = flipped.reverse().transpose();
  out.u = out.S * (out.S.transpose() * (W.transpose() * b));
  return out;
}

/// q(z~) = N(u, S S') of one latent vector as L + L (L + 1) / 2 numbers: t with u = u_0 + P t, then the columns of R with
/// S = P R, its diagonal by logarithms. P is S_0 or, for a cold start, I.
class FreeForm {
 public:
  FreeForm(Context& context, const Solver& solver, const Vector& lambda, const Vector& b, bool cold)
      : context_(context),
        extra_(solver.extra_variances()),
        design_(solver.whitened_design()),
        centre_(whitened_posterior(context, design_, lambda, b)),
        scaled_(!cold) {
    const Index L = centre_.u.size();
    fixed_mean_ = design_.values() * centre_.u;
    R_ = cold ? centre_.S : Matrix::Identity(L, L);
    if (!scaled_) return;
    Matrix product, gram;
    design_.times_lower(context_, centre_.S, product);
    design_ = Design(std::move(product));
    Design(centre_.S).crossed_lower(context_, Vector::Ones(L), centre_.S, gram);
    fill_upper(gram);
    metric_ = Design(std::move(gram));
  }

  Index size() const { return R_.rows() + R_.rows() * (R_.rows() + 1) / 2; }
  void write_origin(double* x) const {
    const Index L = R_.rows();
    std::fill(x, x + L, 0.0);
    write(R_, x + L);
    for (Index j = 0; j < L; ++j) x[diagonal(j)] = std::log(R_(j, j));
  }
  /// Makes these numbers the present q.
  void read(const double* x) {
    const Index L = R_.rows();
    t_ = Eigen::Map<const Vector>(x, L);
    x += L;
    for (Index j = 0; j < L; ++j) {
      R_(j, j) = std::exp(*x);
      std::copy(x + 1, x + L - j, R_.col(j).data() + j + 1);
      x += L - j;
    }
    design_.times_lower(context_, R_, root_);
  }

  Vector mean() const { return fixed_mean_ + design_.values() * t_; }  // of f
  Vector variance() const {
    Vector out = root_.rowwise().squaredNorm();
    if (extra_.size() > 0) out += extra_;
    return out;
  }
  /// KL(q || N(0, I)); its gradient in u and in R.
  double kl(Vector& d_u, Matrix& d_R) const {
    const Index L = R_.rows();
    d_u = scaled_ ? Vector(centre_.u + centre_.S * t_) : Vector(centre_.u + t_);
    double log_diagonal = R_.diagonal().array().log().sum();
    if (scaled_) {
      // |S|^2 = tr R' (P' P) R
      d_R.resize(L, L);
      metric_lower(d_R);
      log_diagonal += centre_.S.diagonal().array().log().sum();
    } else {
      d_R = R_;
    }
    const double trace = d_R.cwiseProduct(R_).sum();
    d_R.diagonal() -= R_.diagonal().cwiseInverse();
    return 0.5 * (d_u.squaredNorm() + trace - static_cast<double>(L)) - log_diagonal;
  }
  /// Gradient of sum E - KL in the numbers, from dE/dm and dE/dv at the present q. Returns the squared norm of that in
  /// (u, S): half of it is no less than what the bound of a log-concave likelihood can still rise by.
  double write_gradient(const Vector& d_mean, const Vector& d_variance, const Vector& d_u, const Matrix& d_R,
                        double* gradient) const {
    const Index L = R_.rows();
    Vector in_t = design_.values().transpose() * d_mean;
    Matrix in_R;
    design_.crossed_lower(context_, 2 * d_variance, root_, in_R);
    in_t -= scaled_ ? Vector(centre_.S.transpose() * d_u) : d_u;
    in_R -= d_R;
    Eigen::Map<Vector>(gradient, L) = in_t;
    write(in_R, gradient + L);
    for (Index j = 0; j < L; ++j) gradient[diagonal(j)] *= R_(j, j);
    if (!scaled_) return in_t.squaredNorm() + in_R.squaredNorm();
    // back through u = u_0 + P t and S = P R: the lower triangle of P^-T (d / dR)
    const double by_mean = centre_.S.transpose().triangularView<Eigen::Upper>().solve(in_t).squaredNorm();
    double by_factor = 0;
    for_panels(L, [&](Index j, Index width) {
      auto block = in_R.block(j, j, L - j, width);
      solve_lower_transposed(context_, centre_.S.block(j, j, L - j, L - j), block);
      for (Index i = 0; i < width; ++i) by_factor += block.col(i).tail(L - j - i).squaredNorm();
    });
    return by_mean + by_factor;
  }

 private:
  Index diagonal(Index j) const {
    const Index L = R_.rows();
    return L + j * L - j * (j - 1) / 2;
  }
  static void write(const Matrix& lower, double* x) {
    for (Index j = 0; j < lower.cols(); ++j) {
      const Index length = lower.rows() - j;
      std::copy_n(lower.col(j).data() + j, length, x);
      x += length;
    }
  }
  // The lower triangle of P' P R.
  void metric_lower(Matrix& out) const {
    const Matrix& M = metric_.values();
    const Index L = M.rows();
    out.setZero();
    for_panels(L, [&](Index j, Index width) {
      multiply(context_, false, false, 1.0, M.block(j, j, L - j, L - j), R_.block(j, j, L - j, width), 0.0,
               out.block(j, j, L - j, width));
    });
    out.triangularView<Eigen::StrictlyUpper>().setZero();
  }

  Context& context_;
  Vector extra_;
  Design design_;     // W~ P
  Whitened centre_;   // u_0, S_0
  bool scaled_;       // P = S_0
  Design metric_{Matrix()};  // P' P
  Vector fixed_mean_;        // W~ u_0
  Vector t_;
  Matrix R_, root_;  // root_ = W~ S
};

/// The free-form q of all latents, and the best one seen.
class Climber {
 public:
  Climber(LatentGaussianModel& model, const Posterior& start, bool cold) : model_(model) {
    for (Index k = 0; k < model.latents(); ++k)
      parts_.emplace_back(model.context(), model.solver(k), start.sites.lambda.col(k), start.sites.b.col(k), cold);
  }

  Vector origin() const {
    Index size = 0;
    for (const FreeForm& part : parts_) size += part.size();
    Vector x(size);
    double* at = x.data();
    for (const FreeForm& part : parts_) {
      part.write_origin(at);
      at += part.size();
    }
    return x;
  }

  /// The bound at x, minus infinity where there is none, its gradient, and the squared norm of that in (u, S).
  double bound(const Vector& x, Vector& gradient, double& squared_norm) {
    const Index N = model_.rows(), K = model_.latents();
    Matrix mean = model_.prior_mean(), variance(N, K);
    std::vector<Vector> d_u(K);
    std::vector<Matrix> d_R(K);
    double kl = 0;
    const double* at = x.data();
    for (Index k = 0; k < K; ++k) {
      parts_[k].read(at);
      at += parts_[k].size();
      mean.col(k) += parts_[k].mean();
      variance.col(k) = parts_[k].variance();
      kl += parts_[k].kl(d_u[k], d_R[k]);
    }
    constexpr double none = -std::numeric_limits<double>::infinity();
    if (!std::isfinite(kl) || !mean.allFinite() || !variance.allFinite()) return none;
    model_.expect(mean, variance, 1, expectations_);
    const double value = expectations_.value.sum() - kl;
    if (!std::isfinite(value) || !expectations_.d_mean.allFinite() || !expectations_.d_variance.allFinite())
      return none;
    squared_norm = 0;
    double* to = gradient.data();
    for (Index k = 0; k < K; ++k) {
      squared_norm += parts_[k].write_gradient(expectations_.d_mean.col(k), expectations_.d_variance.col(k), d_u[k],
                                               d_R[k], to);
      to += parts_[k].size();
    }
    centred_ = mean - model_.prior_mean();
    return value;
  }

  /// Of the marginals that bound() saw last.
  Sites read_off() const {
    Sites sites;
    sites.lambda = -2.0 * expectations_.d_variance;
    sites.b = expectations_.d_mean + sites.lambda.cwiseProduct(centred_);
    return sites;
  }

 private:
  LatentGaussianModel& model_;
  std::vector<FreeForm> parts_;
  Expectations expectations_;
  Matrix centred_;
};

}  // namespace

InferenceResult cholesky_gradient(LatentGaussianModel& model, const std::optional<Sites>& start,
                                  const InferenceControl& control, Trace& trace) {
  InferenceResult out;
  const Matrix none = Matrix::Zero(model.rows(), model.latents());
  const bool from_prior = control.cold && !start;
  out.posterior = initial_posterior(model, from_prior ? Sites{none, none} : start, 1);
  const auto judge = [&] {
    out.stationarity = model.stationarity(out.posterior);
    out.converged = out.stationarity.measure() <= control.tol;
  };
  judge();
  trace.add(out.posterior.elbo, out.stationarity.gap);
  if (out.converged) return out;

  Climber climber(model, out.posterior, control.cold);
  const bool certified = !std::isnan(out.stationarity.gap);
  Sites best_sites = out.posterior.sites;
  double best = -std::numeric_limits<double>::infinity(), promising = control.tol;
  const Objective objective = [&](const Vector& x, Vector& gradient) {
    double squared_norm;
    ++out.iterations;
    const double value = climber.bound(x, gradient, squared_norm);
    if (std::isinf(value)) {
      gradient.setZero(x.size());
      return -value;
    }
    gradient *= -1;
    if (value < best) return -value;
    best = value;
    best_sites = climber.read_off();
    const double gap = 0.5 * squared_norm;
    trace.add(value, certified ? gap : std::numeric_limits<double>::quiet_NaN());
    if (gap <= promising) {
      promising = 0.1 * gap;
      if (auto posterior = model.at_sites(best_sites, 1)) {
        out.posterior = std::move(*posterior);
        judge();
        if (out.converged) throw Enough{};
      }
    }
    return -value;
  };
  LbfgsControl lbfgs;
  lbfgs.max_iterations = control.max_iterations;
  lbfgs.gradient_tolerance = 1e-13;
  lbfgs.memory = 20;
  minimise(objective, climber.origin(), {}, {}, lbfgs);

  if (!out.converged) {
    // Where the search stopped early, one fixed-point step from the best q may end below its bound: shortened, and
    // further ones until it does not.
    constexpr int most = 20;
    model.restore(out.posterior);
    double step = 1;
    if (natural_step(model, best_sites, step, 1, out.posterior)) judge();
    for (int i = 0; i < most && !out.converged && out.posterior.elbo < best; ++i) {
      step = 1;
      if (!natural_step(model, model.natural_target(out.posterior), step, 1, out.posterior)) break;
      judge();
    }
  }
  model.restore(out.posterior);
  trace.add(out.posterior.elbo, out.stationarity.gap);
  return out;
}

}  // namespace galvi
