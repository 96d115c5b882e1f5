#include "inference/dual_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/parallel.h"

namespace galvi {

namespace {

constexpr Index dual_block = 256;
constexpr double dual_row_work = 100.0;  // approximate flops

}  // namespace

DualProblem::DualProblem(LatentGaussianModel& model) : model_(model), sums_(model.rows(), Sum::any) {
  const Index N = model.rows(), K = model.latents();
  for (Matrix* part : {&alpha0_, &alpha1_, &lambda0_, &lambda1_, &lower_, &upper_, &extra_})
    *part = Matrix::Zero(N, K);
  std::vector<DualLine> lines(K);
  Vector probe(K), slope(K), curvature(K);
  for (Index n = 0; n < N; ++n) {
    const double weight = model.data().weight[n];
    if (weight == 0.0) continue;
    model.expectation().dual_lines(model.likelihood(), model.data()[n], lines.data());
    for (Index k = 0; k < K; ++k) {
      // alpha and lambda of a weighted row are its weight times those of the row
      alpha0_(n, k) = weight * lines[k].alpha0;
      alpha1_(n, k) = lines[k].alpha1;
      lambda0_(n, k) = weight * lines[k].lambda0;
      lambda1_(n, k) = lines[k].lambda1;
      lower_(n, k) = weight * lines[k].lower;
      upper_(n, k) = weight * lines[k].upper;
      probe[k] = std::isfinite(lines[k].upper) ? lines[k].upper / (2.0 * K) : 1.0;
    }
    RowConjugate row{0.0, slope.data(), curvature.data(), infinity};
    model.expectation().conjugate_row(model.likelihood(), model.data()[n], probe.data(), row);
    if (std::isfinite(row.rest)) sums_[n] = row.rest > 0.0 ? Sum::below : Sum::held;
  }
  for (Index k = 0; k < K; ++k)
    if (model.solver(k).extra_variances().size() > 0) extra_.col(k) = model.solver(k).extra_variances();
  prior_ = model.prior_variances() - extra_;
}

Matrix DualProblem::start(const SitePosterior& posterior) const {
  constexpr double inside = 1e-10;
  const Index N = lower_.rows(), K = lower_.cols();
  const Expectations& e = posterior.expectations;
  Matrix x = lower_;
  for (Index n = 0; n < N; ++n) {
    const double weight = model_.data().weight[n];
    for (Index k = 0; k < K; ++k) {
      if (!is_free(n, k)) continue;
      x(n, k) = lambda1_(n, k) != 0.0 ? (-2.0 * e.d_variance(n, k) - lambda0_(n, k)) / lambda1_(n, k)
                                      : (e.d_mean(n, k) - alpha0_(n, k)) / alpha1_(n, k);
      x(n, k) = std::min(std::max(x(n, k), lower_(n, k) + inside * weight),
                         upper_(n, k) - (std::isfinite(upper_(n, k)) ? inside * upper_(n, k) : 0.0));
    }
    const double sum = x.row(n).sum(), most = weight * (sums_[n] == Sum::below ? 1.0 - inside : 1.0);
    if (sums_[n] == Sum::held || (sums_[n] == Sum::below && sum > most)) x.row(n) *= most / sum;
  }
  return x;
}

bool DualProblem::add_conjugates(DualPoint& point, Vector& conjugate) const {
  const Index N = lower_.rows(), K = lower_.cols();
  point.curvature = Matrix::Zero(N, K);
  point.rest = Vector::Constant(N, infinity);
  conjugate = Vector::Zero(N);
  for (Index n = 0; n < N; ++n)
    for (Index k = 0; k < K; ++k)
      if (is_free(n, k) && !(point.x(n, k) > lower_(n, k) && point.x(n, k) < upper_(n, k))) return false;
  parallel_for(model_.context(), (N + dual_block - 1) / dual_block,
               dual_row_work * static_cast<double>(N * K), [&](Index block) {
                 Vector x(K), slope(K), curvature(K);
                 RowConjugate row{0.0, slope.data(), curvature.data(), infinity};
                 for (Index n = block * dual_block; n < std::min(N, (block + 1) * dual_block); ++n) {
                   const double weight = model_.data().weight[n];
                   if (weight == 0.0) continue;
                   x = point.x.row(n).transpose() / weight;
                   model_.expectation().conjugate_row(model_.likelihood(), model_.data()[n], x.data(), row);
                   // that of weight f is weight f*(x / weight)
                   conjugate[n] = weight * row.value;
                   point.gradient.row(n) += slope.transpose();
                   point.curvature.row(n) = curvature.transpose() / weight;
                   point.rest[n] = weight * row.rest;
                 }
               });
  ++model_.context().cost.sweeps;
  return point.rest.minCoeff() >= 0.0 && conjugate.allFinite();
}

std::optional<DualPoint> DualProblem::at(const Matrix& x) {
  const Index N = lower_.rows(), K = lower_.cols();
  DualPoint point;
  point.x = x;
  point.gradient = Matrix::Zero(N, K);
  Vector conjugate;
  if (!x.allFinite() || !add_conjugates(point, conjugate)) return std::nullopt;
  // a conjugate may be the small difference of terms such as x log x
  const double steepest = x.cwiseProduct(point.gradient).cwiseAbs().sum();
  const Matrix alpha = alpha0_ + alpha1_.cwiseProduct(x), lambda = lambda0_ + lambda1_.cwiseProduct(x);

  point.posterior = model_.at_alpha(lambda, alpha, 1);
  Matrix centred(N, K);
  point.variance.resize(N, K);
  double log_det = 0;
  for (Index k = 0; k < K; ++k) {
    Solver& solver = model_.solver(k);
    if (!point.posterior && !solver.factorise(lambda.col(k))) return std::nullopt;
    centred.col(k) = point.posterior ? point.posterior->centred.col(k) : solver.apply_prior(alpha.col(k));
    point.variance.col(k) = solver.marginal_variances();
    log_det += solver.log_det();
  }
  const Matrix mean = model_.prior_mean() + centred;
  const Matrix energy =
      alpha.cwiseProduct(0.5 * centred + model_.prior_mean()) - 0.5 * lambda.cwiseProduct(extra_);
  point.value = energy.sum() - 0.5 * log_det + conjugate.sum();
  point.magnitude = energy.cwiseAbs().sum() + std::abs(log_det) + conjugate.cwiseAbs().sum() + steepest;
  point.gradient += alpha1_.cwiseProduct(mean) - 0.5 * lambda1_.cwiseProduct(point.variance);
  point.gap = infinity;
  if (point.posterior) {
    // Fenchel's inequality row by row, where D and the bound are large and nearly equal and their difference
    // is inexact.
    const Vector rows =
        conjugate - point.posterior->expectations.value +
        (alpha.cwiseProduct(mean) - 0.5 * lambda.cwiseProduct(point.variance)).rowwise().sum();
    point.gap = std::max(rows.sum(), 0.0);
  }
  if (!std::isfinite(point.value) || !point.gradient.allFinite() || std::isnan(point.gap))
    return std::nullopt;
  return point;
}

Matrix DualProblem::product(Vector (Solver::*verb)(const Vector&) const, const Matrix& x) const {
  Matrix out(x.rows(), x.cols());
  for (Index k = 0; k < x.cols(); ++k) out.col(k) = (model_.solver(k).*verb)(x.col(k));
  return out;
}

Matrix DualProblem::curve(const DualPoint& point, const Matrix& direction, bool variances) const {
  Matrix out = point.curvature.cwiseProduct(direction) +
               alpha1_.cwiseProduct(product(&Solver::apply_prior, alpha1_.cwiseProduct(direction)));
  if (variances)
    out += 0.5 * lambda1_.cwiseProduct(
                     product(&Solver::apply_squared_covariance, lambda1_.cwiseProduct(direction)));
  for (Index n = 0; n < out.rows(); ++n)
    if (point.rest[n] > 0.0) out.row(n).array() += direction.row(n).sum() / point.rest[n];
  return out;
}

Matrix DualProblem::precondition(const DualPoint& point, const Matrix& residual, bool variances) const {
  Matrix inverse = point.curvature + alpha1_.cwiseAbs2().cwiseProduct(prior_);
  if (variances) inverse += 0.5 * lambda1_.cwiseProduct(point.variance - extra_).cwiseAbs2();
  inverse = (point.curvature.array() > 0.0).select(inverse.cwiseInverse(), 0.0);
  Matrix out = inverse.cwiseProduct(residual);
  // (D + 1 1' / rest)^-1 by Sherman and Morrison; rest = 0 projects on sums of zero
  for (Index n = 0; n < out.rows(); ++n)
    if (std::isfinite(point.rest[n]))
      out.row(n) -= out.row(n).sum() / (point.rest[n] + inverse.row(n).sum()) * inverse.row(n);
  return out;
}

Matrix DualProblem::tangent(const Matrix& gradient) const {
  Matrix out = gradient;
  for (Index n = 0; n < out.rows(); ++n) {
    if (sums_[n] == Sum::held) out.row(n).array() -= out.row(n).mean();
    for (Index k = 0; k < out.cols(); ++k)
      if (!is_free(n, k)) out(n, k) = 0.0;
  }
  return out;
}

namespace {

// The largest step towards an edge. Where the distance is tiny relative to the edge, rounding would end
// outside.
double allowed(double distance, double edge) {
  constexpr double share = 0.99, resolution = 4e-16;
  if (std::isinf(distance)) return infinity;
  return std::max(0.0, std::min(share * distance, distance - resolution * std::abs(edge)));
}

}  // namespace

double DualProblem::row_room(const DualPoint& point, const Matrix& direction, Index n) const {
  double out = infinity;
  for (Index k = 0; k < direction.cols(); ++k) {
    const double x = point.x(n, k), pace = direction(n, k), lower = lower_(n, k), upper = upper_(n, k);
    if (pace < 0.0) out = std::min(out, allowed(x - lower, lower) / -pace);
    if (pace > 0.0) out = std::min(out, allowed(upper - x, upper) / pace);
  }
  const double pace = direction.row(n).sum(), weight = model_.data().weight[n];
  if (sums_[n] == Sum::below && pace > 1e-15 * weight)
    out = std::min(out, allowed(point.rest[n], weight) / pace);
  return out;
}

double DualProblem::room(const DualPoint& point, const Matrix& direction) const {
  double out = infinity;
  for (Index n = 0; n < direction.rows(); ++n) out = std::min(out, row_room(point, direction, n));
  return out;
}

Matrix DualProblem::stopped(const DualPoint& point, const Matrix& direction) const {
  Matrix out = direction;
  for (Index n = 0; n < out.rows(); ++n) {
    for (Index k = 0; k < out.cols(); ++k) {
      if (!is_free(n, k)) continue;
      const double down = allowed(point.x(n, k) - lower_(n, k), lower_(n, k)),
                   up = allowed(upper_(n, k) - point.x(n, k), upper_(n, k));
      out(n, k) = std::min(std::max(out(n, k), -down), up);
    }
    // classes share the error of their sum
    double off = sums_[n] == Sum::held ? out.row(n).sum() : 0.0;
    if (sums_[n] == Sum::below)
      off = std::max(0.0, out.row(n).sum() - allowed(point.rest[n], model_.data().weight[n]));
    if (off != 0.0) out.row(n) -= off / point.x.row(n).sum() * point.x.row(n);
    const double room = row_room(point, out, n);
    if (room < 1.0) out.row(n) *= room;
  }
  return out;
}

}  // namespace galvi
