#include "inference/mean_field.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "function/composition.h"
#include "function/normal.h"
#include "function/standard_function.h"
#include "numeric/krylov.h"
#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index probit_block = 256;
constexpr double probit_row_work = 1e3;  // approximate flops

/// Calls body(n, part, copies) for every part log Phi(sign eta + shift) of each row that has copies of it.
template <class Body>
void for_parts(LatentGaussianModel& model, Body body) {
  const Index N = model.rows();
  parallel_for(model.context(), (N + probit_block - 1) / probit_block,
               probit_row_work * static_cast<double>(N), [&](Index block) {
                 Composition sum;
                 for (Index n = block * probit_block; n < std::min(N, (block + 1) * probit_block); ++n) {
                   sum.clear();
                   model.likelihood().compose(model.data()[n], sum);
                   for (const Composition::Part& part : sum.parts) {
                     const double copies = model.data().weight[n] * part.weight;
                     if (copies > 0) body(n, part, copies);
                   }
                 }
               });
}

/// The number of latents of each row, which is its site's lambda.   N
Vector copies_of(LatentGaussianModel& model) {
  Vector out = Vector::Zero(model.rows());
  for_parts(model, [&](Index n, const Composition::Part&, double copies) { out[n] += copies; });
  return out;
}

/// q(g) of one part in units of sd = (1 - v)^(-1/2), the standard deviation before truncation (002, below eq.
/// 11): N(z, 1) restricted to positive values, with the derivatives of log Phi at z.
///
/// Given the mean m of f, the best a satisfies E g - a = sd^2 (E g - m), or
///   z + v r(z) = sqrt(1 - v) (sign eta + shift),   r = phi / Phi.
/// The left side is convex and increasing, so Newton's method from the right decreases monotonically to the
/// root.
struct Truncated {
  double f[5];
  Truncated(double v, double target) {
    double z = target;
    for (int i = 0; i < 100; ++i) {
      log_normal_cdf_derivatives(z, f);
      const double step = (target - z - v * f[1]) / (1 + v * f[2]);
      if (!(std::abs(step) > 1e-15 * (1 + std::abs(z)))) break;
      z += step;
    }
  }
};

Truncated truncated(const LatentGaussianModel& model, const Composition::Part& part, Index n, double f,
                    double v) {
  return {v, std::sqrt(1 - v) * (part.coefficient * (model.prior_mean()(n) + f) + part.shift)};
}

/// The bound as a function of the mean m of f for which every q(g_n) is best.
class TruncatedClimber {
 public:
  explicit TruncatedClimber(LatentGaussianModel& model) : model_(model), lambda_(copies_of(model)) {
    if (!model.solver(0).factorise(lambda_))
      throw std::domain_error("method = \"mean_field\": the prior covariance is not positive definite");
    variance_ = model.solver(0).marginal_variances();
    const Vector& c = model.solver(0).extra_variances();
    if (c.size() > 0) variance_ -= c;
    if (!((lambda_.array() == 0) || (variance_.array() < 1)).all())
      throw std::domain_error(
          "method = \"mean_field\": without one of the rows its linear predictor has no proper distribution: make the "
          "prior narrower, or use method = \"fixed_point\"");
    constant_ = -0.5 * model.solver(0).log_det();
    if (c.size() > 0) constant_ -= 0.5 * lambda_.dot(c);
  }

  struct Point {
    Vector m;
    Vector b;        // sum of E g - prior mean over a row's latents
    Vector slope;    // db / dm
    SiteMean sites;  // V b; V b = m at the optimum
    double bound;
  };

  Point at(Vector m) {
    const Index N = model_.rows();
    Point out{std::move(m), Vector::Zero(N), Vector::Zero(N), {}, 0};
    Matrix rows = Matrix::Zero(N, 3);  // of a row's latents: log mass and entropy, sum and squares of E g - m
    for_parts(model_, [&](Index n, const Composition::Part& part, double copies) {
      const double v = variance_[n];
      const auto [f] = truncated(model_, part, n, out.m[n], v);
      const double excess = part.coefficient * std::sqrt(1 - v) * f[1];
      rows(n, 0) += copies * (f[0] - 0.5 * std::log1p(-v) + 0.5 * f[1] * f[1]);
      rows(n, 1) += copies * excess;
      rows(n, 2) += copies * excess * excess;
      out.slope[n] += copies * (1 + f[2]) / (1 + v * f[2]);
    });
    out.b = lambda_.cwiseProduct(out.m) + rows.col(1);
    out.sites = model_.solver(0).posterior_mean(out.b);
    // With r = E g - prior mean of all latents, P their prior precision: r' P r = |r - V b|^2 + alpha' V b.
    const Vector miss = out.m - out.sites.mean;
    const double squares = rows.col(2).sum() + 2 * miss.dot(rows.col(1)) + miss.cwiseAbs2().dot(lambda_);
    out.bound = constant_ + log_multiplicity() + rows.col(0).sum() -
                0.5 * (squares + out.sites.alpha.dot(out.sites.mean));
    return out;
  }

  /// Newton's step for m. The bound is concave in E g, where this is an ascent direction.
  Vector step(const Point& at, double tolerance) const {
    constexpr int products = 200;
    const Solver& solver = model_.solver(0);
    const Vector residual = at.sites.mean - at.m, root = at.slope.cwiseSqrt();
    // dm = V diag(slope) dm + residual, as the symmetric (I - S V S) x = S residual, S = sqrt(slope)
    const Vector diagonal = 1 - at.slope.array() * variance_.array();
    const Vector x = conjugate_gradients(
        [&](const Vector& p) {
          return Vector(p - root.cwiseProduct(solver.apply_covariance(root.cwiseProduct(p))));
        },
        [&](const Vector& p) { return Vector(p.cwiseQuotient(diagonal)); }, root.cwiseProduct(residual),
        tolerance, products);
    return residual + solver.apply_covariance(root.cwiseProduct(x));
  }

  /// Upper bound on the remaining increase: with e = V b - m the gradient in every E g, minus the bound is
  /// P-strongly convex, and P^-1 = I + the prior covariance of the latents: [e' Lambda e + (Lambda e)' C
  /// Lambda e] / 2.
  double gap(const Point& at) const {
    const Vector e = at.sites.mean - at.m, sum = lambda_.cwiseProduct(e);
    return 0.5 * (e.dot(sum) + sum.dot(model_.solver(0).apply_prior(sum)));
  }

  double rounding(const Point& at) const {
    return 1e-13 * (1 + std::abs(at.bound)) + 2e-16 * at.b.cwiseProduct(at.sites.mean).cwiseAbs().sum();
  }
  double slack(const Point& at) const { return std::min(rounding(at), 1e-8 * (1 + std::abs(at.bound))); }
  const Vector& lambda() const { return lambda_; }

 private:
  // The constants of log p, which a row of weight 0 does not have.
  double log_multiplicity() const {
    double sum = 0;
    Composition row;
    for (Index n = 0; n < model_.rows(); ++n) {
      if (lambda_[n] == 0) continue;
      row.clear();
      model_.likelihood().compose(model_.data()[n], row);
      sum += model_.data().weight[n] * row.constant;
    }
    return sum;
  }

  LatentGaussianModel& model_;
  Vector lambda_, variance_;  // variance of f through z
  double constant_;
};

}  // namespace

SiteResult mean_field(LatentGaussianModel& model, const std::optional<Sites>& start,
                      const InferenceControl& control, Trace& trace) {
  SiteResult out;
  TruncatedClimber climber(model);
  Vector m = Vector::Zero(model.rows());
  if (start && start->b.allFinite()) m = model.solver(0).posterior_mean(start->b.col(0)).mean;
  TruncatedClimber::Point current = climber.at(std::move(m));
  for (;;) {
    const double gap = climber.gap(current);
    out.stationarity = {gap, std::sqrt(2 * gap), climber.rounding(current)};
    trace.at(model.hyper(), Sites{climber.lambda(), current.b}, current.bound);
    trace.add(current.bound, out.stationarity.gap());
    out.converged = gap <= control.tol;
    if (out.converged || out.iterations == control.max_iterations) break;
    ++out.iterations;
    const Vector step = climber.step(current, std::clamp(0.1 * std::sqrt(gap), 1e-6, 0.1));
    bool moved = false;
    for (double length = 1; length > 1e-6 && !moved; length *= 0.5) {
      TruncatedClimber::Point next = climber.at(current.m + length * step);
      moved = next.bound >= current.bound - climber.slack(current);
      if (moved) current = std::move(next);
    }
    if (!moved) break;
  }
  SitePosterior& q = out.posterior;
  q.sites = {climber.lambda(), current.b};
  q.alpha = current.sites.alpha;
  q.centred = current.sites.mean;
  q.mean = model.prior_mean() + q.centred;
  q.variance = model.solver(0).marginal_variances();
  q.kl = model.solver(0).prior_kl(current.sites);
  q.expectations.d_mean = q.alpha;
  q.expectations.d_variance = -0.5 * q.sites.lambda;
  q.elbo = q.merit = current.bound;
  return out;
}

// q(g) may be treated as fixed: with D the variances of g summed over each row's latents,
//   d bound = [alpha' dC alpha - tr((I - Lambda V) Lambda dC) + tr((I - Lambda V) D (I - V Lambda) dC)] / 2
//             - lambda' dc / 2.
// Fixed sites give dV = (I - V Lambda) dC (I - Lambda V), hence the two derivatives in v that follow.
Vector mean_field_gradient(LatentGaussianModel& model, const SitePosterior& q, Index hypers) {
  const Vector b = q.sites.b, alpha = q.alpha, mean = q.centred, lambda = q.sites.lambda;
  const Vector& c = model.solver(0).extra_variances();
  Vector variance = q.variance;
  if (c.size() > 0) variance -= c;
  Vector spread = Vector::Zero(model.rows());
  for_parts(model, [&](Index n, const Composition::Part& part, double copies) {
    const auto [f] = truncated(model, part, n, mean[n], variance[n]);
    spread[n] += copies * (1 + f[2]) / (1 - variance[n]);
  });
  const Vector d_variance = 0.5 * (spread - lambda), d_extra = -0.5 * lambda;
  Vector out = Vector::Zero(hypers);
  model.solver(0).gradient({b, alpha, mean, alpha, d_variance, false, &d_extra}, out);
  return out;
}

std::string mean_field_refuses(const LatentGaussianModel& model) {
  const StandardFunction* f = model.likelihood().standard_function();
  if (!f || !f->of_normal() || model.latents() != 1)
    return "its latent y* are those of a probit model, binomial(\"probit\"); use fixed_point";
  if (!model.expectation().exact())
    return "it has a bound of its own, without expectations of log p; leave expectation = \"auto\"";
  if (model.null_dimension() > 0)
    return "it integrates the prior out, which a flat prior does not allow; use fixed_point";
  const Vector& weight = model.data().weight;
  if ((weight.array() != weight.array().round()).any())
    return "a row of weight w is w rows with a latent each, so `weights` must be whole numbers; use "
           "fixed_point";
  return "";
}

}  // namespace galvi
