#include "fit/couple.h"

#include <algorithm>
#include <cmath>

#include "expectation/softmax.h"
#include "function/normal.h"
#include "global/chunk.h"
#include "global/coupled.h"
#include "global/linear_response.h"
#include "numeric/dense.h"
#include "numeric/even_points.h"
#include "numeric/parallel.h"
#include "quadrature/class_nodes.h"

namespace galvi {

namespace {

/// What the rows in memory are to coefficients u, the whitened columns of one latent value after the other.
struct Rows {
  explicit Rows(const LatentGaussianModel& model)
      : chunk(model, model.block(), 0, model.rows()),
        W(chunk.W[0]),
        copies(chunk.data.weight.cwiseProduct(chunk.data.size)),
        classes(*model.likelihood().softmax()) {}

  Index latents() const { return classes.latents(); }
  /// eta of these coefficients.   N x K
  Matrix eta(const Vector& u) const {
    return chunk.offset + W * Eigen::Map<const Matrix>(u.data(), W.cols(), latents());
  }
  /// Covariances of each row's latent values, w' V_jk w.   N x K^2
  Matrix between(const Matrix& V) const {
    const Index L = W.cols(), K = latents();
    Matrix out(W.rows(), K * K);
    for (Index k = 0; k < K; ++k)
      for (Index j = 0; j <= k; ++j)
        out.col(j + K * k) = out.col(k + K * j) =
            (W * V.block(j * L, k * L, L, L)).cwiseProduct(W).rowwise().sum();
    return out;
  }

  Chunk chunk;
  const Matrix& W;  // N x L
  Vector copies;    // trials times weight
  Softmax classes;
};

/// Sums over rows of p, the probabilities of the classes with latent values, and of H = diag(p) - p p', both
/// averaged over eta.
struct Sums {
  Vector slope;      // sum_n E p_n (x) w_n.   K L
  Matrix curvature;  // sum_n E H_n (x) w_n w_n'.   K L x K L
};

/// mean: N x K. between: N x K^2.
Sums sums_at(Context& context, const Rows& rows, const Matrix& mean, const Matrix& between) {
  constexpr double row_work = 2e5;  // approximate flops of a node
  const Index N = rows.W.rows(), L = rows.W.cols(), K = rows.latents(), C = rows.classes.classes;
  Matrix probability(N, K), curvature(N, K * K);
  const double work = row_work * static_cast<double>(N * most_class_nodes(C));
  parallel_for(context, N, work, [&](Index n) {
    Vector m = Vector::Zero(C), p(C), sum = Vector::Zero(C);  // of all classes
    Matrix V = Matrix::Zero(C, C), H(C, C), total = Matrix::Zero(C, C);
    for (Index c = 0; c < C; ++c) {
      const Index k = rows.classes.latent_of(c);
      if (k < 0) continue;
      m[c] = mean(n, k);
      for (Index d = 0; d < C; ++d)
        if (const Index l = rows.classes.latent_of(d); l >= 0) V(c, d) = between(n, k + K * l);
    }
    const ClassNodes nodes = class_nodes(m, V);
    for (Index i = 0; i < nodes.weight.size(); ++i) {
      const Vector at = nodes.mean.row(i), variance = nodes.variance.row(i);
      softmax_moments(at.data(), variance.data(), p, H);
      sum += nodes.weight[i] * p;
      total += nodes.weight[i] * H;
    }
    for (Index c = 0; c < C; ++c) {
      const Index k = rows.classes.latent_of(c);
      if (k < 0) continue;
      probability(n, k) = rows.copies[n] * sum[c];
      for (Index d = 0; d < C; ++d)
        if (const Index l = rows.classes.latent_of(d); l >= 0)
          curvature(n, k + K * l) = rows.copies[n] * total(c, d);
    }
  });
  Sums out{flat(rows.W.transpose() * probability), Matrix(K * L, K * L)};
  for (Index k = 0; k < K; ++k)
    for (Index j = 0; j <= k; ++j) {
      const Matrix block = rows.W.transpose() * curvature.col(j + K * k).asDiagonal() * rows.W;
      out.curvature.block(j * L, k * L, L, L) = block;
      out.curvature.block(k * L, j * L, L, L) = block;
    }
  return out;
}

/// V^-1 by the correlations; empty where these have lost their digits.
std::optional<Matrix> inverse_covariance(Context& context, const Matrix& V) {
  const Vector sd = V.diagonal().cwiseSqrt();
  if (!V.allFinite() || !(sd.array() > 0).all()) return std::nullopt;
  const Vector precise = sd.cwiseInverse();
  Matrix root = precise.asDiagonal() * V * precise.asDiagonal();
  if (!cholesky(context, root)) return std::nullopt;
  root.triangularView<Eigen::StrictlyUpper>().setZero();
  invert_lower(context, root);
  return Matrix(precise.asDiagonal() * (root.transpose() * root) * precise.asDiagonal());
}

/// From the first step to the best coupled Gaussian. With the classes' E p and E H under the coupled q, its
/// precision is A = P + sum_n E H_n (x) w_n w_n' and its mean is where W'(y - E p) and the prior balance.
/// Full steps overshoot by up to 0.7 of their length, so the precision goes half of the way: a
/// natural-gradient step. Empty where digits are lost on the way.
std::optional<CoupledPosterior> best_coupled(Context& context, const Rows& rows, const Posterior& q,
                                             const Vector& factorised, const CoupledPosterior& first) {
  constexpr int most_steps = 5;
  constexpr double near = 0.005;  // standard deviations
  const Index N = rows.W.rows(), K = rows.latents();
  std::optional<Matrix> precision = inverse_covariance(context, first.covariance);
  if (!precision) return std::nullopt;
  Matrix apart = Matrix::Zero(N, K * K);
  for (Index k = 0; k < K; ++k) apart.col(k + K * k) = q->variance.col(k);
  const Sums old = sums_at(context, rows, q->mean, apart);
  const Matrix own = *precision - old.curvature;  // of prior and remembered rows
  CoupledPosterior out{factorised, first.covariance};
  for (int step = 0; step < most_steps; ++step) {
    const Sums now = sums_at(context, rows, rows.eta(out.mean), rows.between(out.covariance));
    const Vector slope = old.slope - now.slope - own * (out.mean - factorised);
    *precision = 0.5 * (*precision + own + now.curvature);
    Matrix root = *precision;  // A = L L'
    if (!cholesky(context, root)) break;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    // in standard deviations: L'V L = I where the covariance stays
    Matrix ratio = root.transpose() * out.covariance * root;
    ratio.diagonal().array() -= 1;
    const double turned = ratio.selfadjointView<Eigen::Lower>().eigenvalues().cwiseAbs().maxCoeff();
    Matrix inverse = root;
    invert_lower(context, inverse);
    out.covariance = inverse.transpose() * inverse;  // A^-1
    const Vector change = out.covariance * slope;
    out.mean += change;
    if (std::max((root.transpose() * change).norm(), 0.5 * turned) < near) break;
  }
  if (!out.mean.allFinite() || !inverse_covariance(context, out.covariance)) return std::nullopt;
  return out;
}

/// Linear response changes little where rows are many; it must not need seconds.   N rows, D coefficients
bool takes_response(double N, double D, double K) {
  constexpr double most_rows = 10000, most_work = 2e9;  // flops
  return N <= most_rows && 8 * D * (N * (3 * D * D + 4 * std::pow(K, 4)) + 8 * D * D * D) <= most_work;
}

/// The covariance by linear response, which adds what the Gaussian leaves out of skew posteriors. Empty where
/// it is not known: sds that differ by many orders of magnitude, posteriors far from every Gaussian.
std::optional<Matrix> response_covariance(Context& context, const Rows& rows, const CoupledPosterior& q) {
  constexpr Index points = 400;
  if (!inverse_covariance(context, q.covariance)) return std::nullopt;
  Matrix z(2 * points, rows.latents());
  z.topRows(points) =
      even_points(points, rows.latents()).unaryExpr([](double u) { return normal_quantile(u); });
  z.bottomRows(points) = -z.topRows(points);
  const HigherDerivatives derivatives = softmax_derivatives(
      context, rows.eta(q.mean), rows.between(q.covariance), rows.copies, rows.classes.reference >= 0, z);
  std::vector<LatentColumns> latents;
  for (Index k = 0; k < rows.latents(); ++k) latents.push_back({&rows.W, k * rows.W.cols()});
  LinearResponse found = linear_response(context, latents, derivatives, q.covariance);
  if (!found.refused.empty() || !inverse_covariance(context, found.covariance)) return std::nullopt;
  return std::move(found.covariance);
}

Vector means_of(const GlobalPosterior& q) {
  const Index L = q[0].mean.size();
  Vector out(L * static_cast<Index>(q.size()));
  for (std::size_t k = 0; k < q.size(); ++k) out.segment(static_cast<Index>(k) * L, L) = q[k].mean;
  return out;
}

/// Improves the first step, as far as it is worth the time.
void improve(LatentGaussianModel& model, const Posterior& q, const GlobalPosterior& factorised,
             CoupledPosterior& coupled) {
  constexpr double most_evaluations = 20000;  // of a step
  const auto classes = model.likelihood().softmax();
  if (!classes || model.source()) return;
  const double N = static_cast<double>(model.rows());
  const bool steps = N * static_cast<double>(most_class_nodes(classes->classes)) <= most_evaluations;
  const bool responds =
      takes_response(N, static_cast<double>(coupled.mean.size()), static_cast<double>(model.latents()));
  if (!steps && !responds) return;
  const Cost cost = model.context().cost;
  const Rows rows(model);
  if (steps)
    if (auto best = best_coupled(model.context(), rows, q, means_of(factorised), coupled))
      coupled = std::move(*best);
  if (responds)
    if (auto found = response_covariance(model.context(), rows, coupled))
      coupled.covariance = std::move(*found);
  model.context().cost = cost;  // what a fit costs is what the search does
}

}  // namespace

std::optional<Coupling> couple(LatentGaussianModel& model, const Posterior& q,
                               std::vector<SolverState> states) {
  constexpr Index most = 2000;  // largest number of coefficients whose joint covariance is kept
  const Index K = model.latents();
  if (K == 1 || model.priors().size() > 1 || !model.sums_suffice() || !model.expectation().exact())
    return std::nullopt;
  const Prior& prior = *model.predictor(0).prior;
  const Index L = prior.columns();
  if (!prior.finite() || prior.has_extra_variances() || L * K > most) return std::nullopt;
  GlobalModel sums(model);
  using Factorised = std::optional<GlobalPosterior>;
  const Factorised factorised =
      q.visit(Overloaded{[&](const SitePosterior& own) { return sums.posterior_of(own.sites, 1); },
                         [](const SumsPosterior& own) { return Factorised(*own.sites.q); }});
  if (!factorised) return std::nullopt;
  std::optional<CoupledPosterior> coupled = coupled_posterior(sums, *factorised);
  if (!coupled) return std::nullopt;
  improve(model, q, *factorised, *coupled);
  for (Index k = 0; k < K; ++k) {
    Matrix root = coupled->covariance.block(k * L, k * L, L, L);
    if (!cholesky(model.context(), root)) return std::nullopt;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    states[k].latent_mean =
        prior.coefficient_mean() + prior.scale().cwiseProduct(coupled->mean.segment(k * L, L));
    states[k].latent_chol = prior.scale().asDiagonal() * root;
  }
  const Vector scale = prior.scale().replicate(K, 1);
  return Coupling{scale.asDiagonal() * coupled->covariance * scale.asDiagonal(), std::move(states)};
}

}  // namespace galvi
