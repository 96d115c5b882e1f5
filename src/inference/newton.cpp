#include "inference/newton.h"

#include <cmath>
#include <limits>

#include "inference/ascent.h"
#include "model/start.h"
#include "numeric/krylov.h"

namespace galvi {

namespace {

constexpr double inner_reduction = 1e-2;  // of the residual, per factorisation
constexpr int inner_iterations = 40;
constexpr int krylov_dimension = 30;
constexpr double max_site_move = 2;

using Map = Eigen::Map<const Matrix>;

/// The coordinate x of lambda: log lambda where the best lambda is positive, lambda v0 with v0 the variance
/// at the last factorisation where it may be negative.
class SiteScale {
 public:
  SiteScale(bool positive, const Matrix& v0, const Matrix& floor)
      : positive_(positive), v0_(v0), floor_(floor) {}

  Matrix of(const Matrix& lambda) const {
    if (positive_) return lambda.cwiseMax(floor_).array().log();
    return lambda.cwiseProduct(v0_);
  }
  Matrix lambda(const Matrix& x) const {
    if (positive_) return x.array().exp();
    return x.cwiseQuotient(v0_);
  }
  /// d lambda / dx
  Matrix slope(const Matrix& x) const {
    if (positive_) return x.array().exp();
    return v0_.cwiseInverse();
  }
  /// dx / dE_v of lambda = -2 E_v; zero where lambda is at its lower limit.
  Matrix target_slope(const Matrix& d_variance) const {
    if (positive_) return (-2 * d_variance.array() > floor_.array()).select(d_variance.cwiseInverse(), 0.0);
    return -2 * v0_;
  }
  Matrix lowest() const {
    if (positive_) return floor_.array().log();
    return Matrix::Constant(v0_.rows(), v0_.cols(), -std::numeric_limits<double>::infinity());
  }
  /// Limits a move site by site to where the frozen model is valid, so that one site with a large move does
  /// not hold the others back. A negligible site may vanish at once.
  Matrix limited(const Matrix& move, const Matrix& x, const Matrix& variance) const {
    const Matrix within = move.cwiseMax(-max_site_move).cwiseMin(max_site_move);
    if (!positive_) return within;
    return (x.array().exp() * variance.array() > 1e-2)
        .select(within, move.cwiseMax(-50.0).cwiseMin(max_site_move));
  }

 private:
  bool positive_;
  const Matrix &v0_, &floor_;
};

/// The optimality conditions with the covariance frozen to first order around one factorisation.
class FrozenModel {
 public:
  struct Point {
    Matrix alpha, x;  // N x K; x: lambda's coordinate
    Matrix mean;      // N x K, of f
    Matrix variance;  // N x K, modelled
    Expectations e;
    Vector residual;  // 2 N K: scaled alpha part, then x part
    double norm = 0;
  };

  FrozenModel(LatentGaussianModel& model, const SitePosterior& at)
      : model_(model),
        N_(model.rows()),
        K_(model.latents()),
        lambda0_(at.sites.lambda),
        v0_(at.variance),
        scale_(at.variance.cwiseSqrt()),
        floor_(model.lambda_floor()),
        sites_(model.likelihood().concave_in_each(), v0_, floor_) {}

  /// Empty where the modelled variance is not positive or the expectation overflows.
  std::optional<Point> at(const Matrix& alpha, const Matrix& x, const Matrix& mean) const;
  /// The Newton direction in (alpha, x), to relative accuracy `tolerance`.
  Vector direction(const Point& point, double tolerance) const;
  Matrix apply_prior(const Matrix& x) const;
  const SiteScale& sites() const { return sites_; }

 private:
  Matrix squared_product(const Matrix& x) const;
  Matrix blocks(const Matrix& second, const Matrix& x) const;

  LatentGaussianModel& model_;
  Index N_, K_;
  const Matrix lambda0_, v0_, scale_, floor_;
  const SiteScale sites_;
};

Matrix FrozenModel::apply_prior(const Matrix& x) const { return model_.product(&Solver::apply_prior, x); }

Matrix FrozenModel::squared_product(const Matrix& x) const {
  return model_.product(&Solver::apply_squared_covariance, x);
}

// Row n: the K x K block of second derivatives times row n of x.
Matrix FrozenModel::blocks(const Matrix& second, const Matrix& x) const {
  Matrix out = Matrix::Zero(N_, K_);
  for (Index l = 0; l < K_; ++l)
    for (Index k = 0; k < K_; ++k) out.col(k) += second.col(l * K_ + k).cwiseProduct(x.col(l));
  return out;
}

std::optional<FrozenModel::Point> FrozenModel::at(const Matrix& alpha, const Matrix& x,
                                                  const Matrix& mean) const {
  Point p;
  p.alpha = alpha;
  p.x = x;
  p.mean = mean;
  const Matrix change = sites_.lambda(x) - lambda0_;
  // 1 / v^ = 1 / v0 + (V0 o V0)(lambda - lambda0) / v0^2
  const Matrix precision = (1 + squared_product(change).array() / v0_.array()) / v0_.array();
  if (!(precision.minCoeff() > 0)) return std::nullopt;
  p.variance = precision.cwiseInverse();
  model_.expect(model_.prior_mean() + mean, p.variance, 2, p.e);
  if (!p.e.value.allFinite() || !p.e.d_mean.allFinite() || !p.e.d_variance.allFinite()) return std::nullopt;
  p.residual.resize(2 * N_ * K_);
  Eigen::Map<Matrix>(p.residual.data(), N_, K_) = (alpha - p.e.d_mean).cwiseProduct(scale_);
  Eigen::Map<Matrix>(p.residual.data() + N_ * K_, N_, K_) = x - sites_.of(-2 * p.e.d_variance);
  p.norm = p.residual.norm();
  if (!std::isfinite(p.norm)) return std::nullopt;
  return p;
}

Vector FrozenModel::direction(const Point& p, double tolerance) const {
  const Index size = N_ * K_;
  // d v^ = -(v^ / v0)^2 (V0 o V0)(d lambda)
  const Matrix dv = -(p.variance.array() / v0_.array()).square();
  const Matrix target_slope = sites_.target_slope(p.e.d_variance), slope = sites_.slope(p.x);

  Matrix diagonal(N_, K_);  // of the x block
  for (Index k = 0; k < K_; ++k)
    diagonal.col(k) = 1 - target_slope.col(k).array() * p.e.d_vv.col(k * (K_ + 1)).array() *
                              dv.col(k).array() * v0_.col(k).array().square() * slope.col(k).array();
  diagonal = (diagonal.array() > 0.2).select(diagonal, 1.0);

  const LinearMap jacobian = [&](const Vector& d) {
    const Matrix d_mean = apply_prior(Map(d.data(), N_, K_).cwiseQuotient(scale_));
    const Matrix d_x = Map(d.data() + size, N_, K_);
    const Matrix d_variance = dv.cwiseProduct(squared_product(slope.cwiseProduct(d_x)));
    Matrix d_mv_transposed(N_, K_ * K_);  // the blocks hold d^2E / dm_k dv_l
    for (Index l = 0; l < K_; ++l)
      for (Index k = 0; k < K_; ++k) d_mv_transposed.col(l * K_ + k) = p.e.d_mv.col(k * K_ + l);
    Vector out(2 * size);
    Eigen::Map<Matrix>(out.data(), N_, K_) =
        Map(d.data(), N_, K_) - scale_.cwiseProduct(blocks(p.e.d_mm, d_mean) + blocks(p.e.d_mv, d_variance));
    Eigen::Map<Matrix>(out.data() + size, N_, K_) =
        d_x - target_slope.cwiseProduct(blocks(d_mv_transposed, d_mean) + blocks(p.e.d_vv, d_variance));
    return out;
  };
  // (I + Lambda C)^-1 = I - Lambda V on alpha, diagonal on x
  const LinearMap preconditioner = [&](const Vector& r) {
    Vector out(2 * size);
    const Matrix u = Map(r.data(), N_, K_).cwiseQuotient(scale_);
    for (Index k = 0; k < K_; ++k)
      Eigen::Map<Matrix>(out.data(), N_, K_).col(k) = scale_.col(k).cwiseProduct(
          u.col(k) - lambda0_.col(k).cwiseProduct(model_.solver(k).apply_covariance(u.col(k))));
    Eigen::Map<Matrix>(out.data() + size, N_, K_) = Map(r.data() + size, N_, K_).cwiseQuotient(diagonal);
    return out;
  };
  Vector d = gmres(jacobian, preconditioner, -p.residual, tolerance, krylov_dimension);
  Eigen::Map<Matrix>(d.data(), N_, K_) = Map(d.data(), N_, K_).cwiseQuotient(scale_);
  return d;
}

/// The first point along a direction where the residual falls, halving `step`; empty after `halvings` trials.
std::optional<FrozenModel::Point> search(const FrozenModel& frozen, const FrozenModel::Point& from,
                                         const Matrix& d_alpha, const Matrix& d_mean, const Matrix& d_x,
                                         int halvings, double& step) {
  const Matrix lowest = frozen.sites().lowest();
  for (int i = 0; i <= halvings; ++i, step *= 0.5) {
    auto next = frozen.at(from.alpha + step * d_alpha, (from.x + step * d_x).cwiseMax(lowest),
                          from.mean + step * d_mean);
    if (next && next->norm < (1 - 1e-4 * step) * from.norm) return next;
  }
  return std::nullopt;
}

/// Moves (alpha, x), and the mean = C alpha, towards the frozen model's solution. False if it got less than
/// halfway, measured by the residual.
bool solve_frozen(LatentGaussianModel& model, const FrozenModel& frozen, const SitePosterior& current,
                  Matrix& alpha, Matrix& mean, Matrix& x) {
  const Index N = model.rows(), K = model.latents();
  auto point = frozen.at(current.alpha, x, current.centred);
  if (!point) return false;
  const double start = point->norm;
  double last_step = 0;
  for (int i = 0; i < inner_iterations && point->norm > inner_reduction * start && point->norm > 1e-11; ++i) {
    model.context().monitor.poll();
    // far from the solution the trust region cuts the step, and a rough direction is good enough
    const double tolerance =
        last_step < 1 ? 0.1 : std::min(0.1, std::max(0.3 * inner_reduction * start / point->norm, 1e-3));
    const Vector d = frozen.direction(*point, tolerance);
    if (!d.allFinite()) break;
    const Matrix d_alpha = Map(d.data(), N, K), d_x = Map(d.data() + N * K, N, K);
    const Matrix d_mean = frozen.apply_prior(d_alpha);
    // trust region for means: one plus two standard deviations
    const double mean_move = (d_mean.array().abs() / (1 + 2 * point->variance.array().sqrt())).maxCoeff();
    const double longest = std::min(1.0, 1 / std::max(mean_move, 1e-300));
    double step = longest;
    const Matrix limited = frozen.sites().limited(d_x, point->x, point->variance);
    auto next = search(frozen, *point, d_alpha, d_mean, limited, 4, step);
    if (!next) {
      // clipped, it need not be a descent direction; scaled down as a whole, it is
      step = std::min(longest, max_site_move / std::max(d_x.cwiseAbs().maxCoeff(), 1e-300));
      next = search(frozen, *point, d_alpha, d_mean, d_x, 12, step);
    }
    if (!next) break;
    last_step = step;
    const double gain = next->norm / point->norm;
    point = std::move(next);
    // progress this slow is the fault of the frozen model: a new factorisation helps more
    if (i >= 10 && gain > 0.99) break;
  }
  alpha = point->alpha;
  mean = point->mean;
  x = point->x;
  return point->norm < 0.5 * start;
}

bool fallback_step(LatentGaussianModel& model, Sites target, bool positive, SitePosterior& current) {
  if (positive) target.lambda = target.lambda.cwiseMax(0.0);
  double step = 1;
  return natural_step(model, target, step, 1, current);
}

}  // namespace

SiteResult newton(LatentGaussianModel& model, const std::optional<Sites>& start,
                  const InferenceControl& control, Trace& trace) {
  const bool positive = model.likelihood().concave_in_each();
  const bool bends = !model.expectation().exact();
  SiteResult out;
  SitePosterior& current = out.posterior;
  current = initial_posterior(model, start, 1);
  if (positive && current.sites.lambda.minCoeff() < 0)
    current = initial_posterior(model, Sites{current.sites.lambda.cwiseMax(0.0), current.sites.b}, 1);
  int stalled = 0;  // steps in a row that raised the bound by rounding only
  for (;;) {
    out.stationarity = model.stationarity(current);
    trace.add(model.hyper(), current, out.stationarity.gap());
    out.converged = out.stationarity.measure() <= control.tol;
    if (out.converged || out.iterations == control.max_iterations || stalled == 3) return out;
    ++out.iterations;
    const double before = current.elbo, little = std::min(current.slack(), 0.1 * control.tol);

    bool moved = false, solved = false;
    {
      const FrozenModel frozen(model, current);
      const Matrix x = frozen.sites().of(current.sites.lambda);
      Matrix alpha = current.alpha, mean = current.centred, target = x;
      solved = solve_frozen(model, frozen, current, alpha, mean, target);
      // A row that does not determine a latent (weight 0, or a class decided before) has sites of zero and
      // keeps them. Derivatives that underflow far from the data are zero too, but those sites move.
      const auto silent =
          (current.expectations.d_mean.array() == 0 && current.expectations.d_variance.array() == 0 &&
           current.alpha.array() == 0 && current.sites.lambda.array() == 0)
              .eval();
      const Matrix from = current.alpha, from_mean = current.centred;
      for (double step = 1; step > 1e-3 && !moved; step *= 0.5) {
        const Matrix lambda = silent.select(0.0, frozen.sites().lambda(x + step * (target - x)));
        const Matrix b = from + step * (alpha - from) +
                         lambda.cwiseProduct(from_mean + step * (mean - from_mean));
        auto next = model.at_sites({lambda, silent.select(0.0, b)}, 1);
        if (holds(next, current)) {
          moved = true;
          current = std::move(*next);
        }
      }
    }
    stalled = current.elbo - before <= little ? stalled + 1 : 0;
    if (moved && solved) continue;
    // Where the model of the variances is too rough: Newton's step for the means alone with a fixed-point
    // step for the variances, else the natural gradient, which is an ascent direction whatever the curvature
    // of the bound.
    model.restore(current);
    bool stepped = false;
    if (bends) {
      model.expect(current.mean, current.variance, 2, current.expectations);
      stepped = fallback_step(model, newton_target(model, current), positive, current);
    }
    if (!stepped) stepped = fallback_step(model, model.natural_target(current), positive, current);
    if (stepped) {
      stalled = current.elbo - before <= little ? stalled : 0;
    } else if (!moved) {
      out.stationarity = model.stationarity(current);
      return out;
    }
  }
}

}  // namespace galvi
