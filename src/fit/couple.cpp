#include "fit/couple.h"

#include <algorithm>
#include <cmath>

#include "global/chunk.h"
#include "global/coupled.h"
#include "global/linear_response.h"
#include "inference/anderson.h"
#include "likelihood/classes.h"
#include "numeric/dense.h"
#include "numeric/parallel.h"
#include "quadrature/class_points.h"

namespace galvi {

namespace {

constexpr double fine = 10;  // the exponent of points (quadrature/class_points.h)

/// What the rows in memory are to coefficients u, the whitened columns of one latent value after the other: the log
/// posterior is linear'u - u'own u / 2 - sum_n log sum_c exp(eta_nc).
struct Rows {
  explicit Rows(const LatentGaussianModel& model)
      : chunk(model, model.block(), 0, model.rows()),
        W(chunk.W[0]),
        copies(chunk.data.weight.cwiseProduct(chunk.data.size)),
        classes(*model.likelihood().softmax()),
        rule(classes) {
    const Index L = W.cols(), K = latents();
    Matrix times = Matrix::Zero(W.rows(), K);
    for (Index n = 0; n < W.rows(); ++n)
      for_classes(chunk.data[n], classes.classes, [&](Index c, double trials) {
        if (const Index k = classes.latent_of(c); k >= 0) times(n, k) += chunk.data.weight[n] * trials;
      });
    linear = flat(W.transpose() * times);
    own = model.predictor(0).prior->precision().replicate(K, 1).asDiagonal();
    if (const Remembered* earlier = model.remembered())
      for (Index k = 0; k < K; ++k) {
        linear.segment(k * L, L) += earlier->h[static_cast<std::size_t>(k)];
        own.block(k * L, k * L, L, L) += earlier->G[static_cast<std::size_t>(k)];
      }
  }

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
  ClassRule rule;
  Vector linear;  // K L
  Matrix own;     // K L x K L
};

/// Sums over rows of p, the probabilities of the classes with latent values, and of H = diag(p) - p p', both
/// averaged over eta.
struct Sums {
  Vector slope;      // sum_n E p_n (x) w_n.   K L
  Matrix curvature;  // sum_n E H_n (x) w_n w_n'.   K L x K L
};

Sums sums_at(Context& context, const Rows& rows, const Vector& mean, const Matrix& covariance,
             double exponent) {
  constexpr Index block_rows = 16;
  constexpr double row_work = 1e4;  // approximate flops
  const Index N = rows.W.rows(), L = rows.W.cols(), K = rows.latents(), C = rows.classes.classes;
  const Matrix eta = rows.eta(mean), between = rows.between(covariance);
  Matrix probability(N, K), curvature(N, K * K);
  const Index blocks = (N + block_rows - 1) / block_rows;
  parallel_for(context, blocks, row_work * static_cast<double>(N), [&](Index block) {
    ClassPoints points;
    Vector own, weighted;
    Matrix V(K, K);
    for (Index n = block * block_rows; n < std::min(N, (block + 1) * block_rows); ++n) {
      own = between.row(n);
      rows.rule.place(eta.row(n), Eigen::Map<const Matrix>(own.data(), K, K), exponent, points);
      for (Index c = 0; c < C; ++c) {
        const Index k = rows.classes.latent_of(c);
        if (k < 0) continue;
        weighted = rows.copies[n] * points.weight.cwiseProduct(points.probability.col(c));
        probability(n, k) = weighted.sum();
        for (Index d = 0; d <= c; ++d)
          if (const Index l = rows.classes.latent_of(d); l >= 0)
            curvature(n, k + K * l) = curvature(n, l + K * k) = -weighted.dot(points.probability.col(d));
        curvature(n, k + K * k) += probability(n, k);
      }
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

/// Means and the lower triangle of a precision, one after the other, and their units.
struct NaturalNumbers {
  static Vector of(const Vector& mean, const Matrix& precision) {
    const Index D = mean.size();
    Vector out(D + D * (D + 1) / 2);
    out.head(D) = mean;
    for (Index j = 0, at = D; j < D; at += D - j++) out.segment(at, D - j) = precision.col(j).tail(D - j);
    return out;
  }
  static Vector units(const Vector& sd) {
    const Vector precise = sd.cwiseInverse();
    Matrix of_precision = precise * precise.transpose();
    of_precision.diagonal() *= M_SQRT2;
    return of(sd, of_precision);
  }
  static Matrix precision(const Vector& numbers, Index D) {
    Matrix out(D, D);
    for (Index j = 0, at = D; j < D; at += D - j++) out.col(j).tail(D - j) = numbers.segment(at, D - j);
    fill_upper(out);
    return out;
  }
};

/// A^-1; empty where A is not positive definite.
std::optional<Matrix> inverse_precision(Context& context, Matrix A) {
  if (!A.allFinite() || !cholesky(context, A)) return std::nullopt;
  invert_from_cholesky(context, A, A.rows());
  fill_upper(A);
  return A;
}

/// From q, which factorises over classes, to the best coupled Gaussian. With the classes' E p and E H under the coupled
/// q, its precision is A = own + sum_n E H_n (x) w_n w_n' and its mean is where linear - own u - sum_n E p_n (x) w_n is
/// zero. Full steps overshoot by up to 0.7 of their length, so plain ones are shorter; Anderson acceleration learns
/// the rest. Far from the end few points are enough. Empty where digits are lost on the way or its end is not near.
std::optional<CoupledPosterior> best_coupled(Context& context, const Rows& rows, const GlobalPosterior& q) {
  constexpr int most_steps = 40;
  constexpr std::size_t memory = 4;
  constexpr double near = 0.005, close_by = 0.1;  // standard deviations
  constexpr double coarse = 8, plain = 0.7;
  const Index L = rows.W.cols(), D = L * rows.latents();
  CoupledPosterior out{Vector(D), Matrix::Zero(D, D)};
  Matrix precision = Matrix::Zero(D, D);
  for (std::size_t k = 0; k < q.size(); ++k) {
    const Index at = static_cast<Index>(k) * L;
    out.mean.segment(at, L) = q[k].mean;
    out.covariance.block(at, at, L, L) = q[k].root.transpose() * q[k].root;
    precision.block(at, at, L, L) = q[k].precision;
  }
  Anderson acceleration(memory);
  double before = infinity, exponent = coarse;
  for (int step = 0; step < most_steps; ++step) {
    const Sums now = sums_at(context, rows, out.mean, out.covariance, exponent);
    const Vector slope = rows.linear - now.slope - rows.own * out.mean;
    const Matrix target = rows.own + now.curvature;
    Matrix root = target;  // A = L L'
    if (!target.allFinite() || !cholesky(context, root)) break;
    root.triangularView<Eigen::StrictlyUpper>().setZero();
    Matrix full = root;
    invert_from_cholesky(context, full, D);
    fill_upper(full);
    const Vector change = full * slope;
    // in standard deviations: L'V L = I where the covariance stays
    Matrix ratio = root.transpose() * out.covariance * root;
    ratio.diagonal().array() -= 1;
    const double turn = ratio.selfadjointView<Eigen::Lower>().eigenvalues().cwiseAbs().maxCoeff();
    const double left = std::max((root.transpose() * change).norm(), 0.5 * turn);
    const bool last = left < near && exponent == fine;
    if (step == 0) {
      // q is far: its classes do not know of each other
      precision = target;
      out = {out.mean + change, full};
      continue;
    }
    if (left > before || (left < close_by && exponent < fine)) acceleration = Anderson(memory);
    if (left < close_by) exponent = fine;
    before = left;
    const Vector numbers = NaturalNumbers::of(out.mean, precision);
    const Vector way = NaturalNumbers::of(change, target - precision);
    const Vector next =
        acceleration.next(numbers, way, NaturalNumbers::units(full.diagonal().cwiseSqrt()), plain);
    precision = NaturalNumbers::precision(next, D);
    out.mean = next.head(D);
    std::optional<Matrix> covariance = inverse_precision(context, precision);
    if (!covariance) {
      acceleration = Anderson(memory);
      precision = NaturalNumbers::precision(numbers + plain * way, D);
      out.mean = numbers.head(D) + plain * change;
      covariance = inverse_precision(context, precision);
      if (!covariance) return std::nullopt;
    }
    out.covariance = std::move(*covariance);
    if (last) break;
  }
  if (!(before < close_by) || !out.mean.allFinite() || !inverse_covariance(context, out.covariance))
    return std::nullopt;
  return out;
}

/// Linear response changes little where rows are many; it must not need seconds.   N rows, D coefficients
bool takes_response(double N, double D, double K) {
  constexpr double most_rows = 10000, most_work = 2e9;  // flops
  return N <= most_rows && 8 * D * (N * (3 * D * D + 4 * std::pow(K, 4)) + 8 * D * D * D) <= most_work;
}

/// The covariance by linear response, which adds what the Gaussian leaves out of skew posteriors: that of the
/// coefficients of differences to one class, on which all others depend linearly. Empty where it is not known: sds that
/// differ by many orders of magnitude, posteriors far from every Gaussian.
std::optional<Matrix> response_covariance(Context& context, const Rows& rows, const CoupledPosterior& q) {
  constexpr double residual = 0.01;  // variances are off by the order of its square
  if (!inverse_covariance(context, q.covariance)) return std::nullopt;
  const Index L = rows.W.cols(), r = rows.classes.classes - 1, D = q.mean.size();
  Matrix differences = Matrix::Identity(D, L * r);
  if (rows.classes.reference < 0) differences.bottomRows(L) = -Matrix::Identity(L, L).replicate(1, r);
  const Matrix VT = q.covariance * differences, V = differences.transpose() * VT;
  std::vector<LatentColumns> latents;
  for (Index k = 0; k < r; ++k) latents.push_back({&rows.W, k * L});
  const HigherDerivatives derivatives = softmax_derivatives(context, rows.rule, rows.eta(q.mean),
                                                            rows.between(q.covariance), rows.copies, fine);
  const LinearResponse found = linear_response(context, latents, derivatives, V, residual);
  const std::optional<Matrix> precision = inverse_covariance(context, V);
  if (!found.refused.empty() || !precision || !inverse_covariance(context, found.covariance))
    return std::nullopt;
  const Matrix G = VT * *precision;
  Matrix out = q.covariance + G * (found.covariance - V) * G.transpose();
  if (!inverse_covariance(context, out)) return std::nullopt;
  return out;
}

/// As far as it is worth the time the best coupled Gaussian, else one step from q, and linear response.
std::optional<CoupledPosterior> coupled_from(LatentGaussianModel& model, const GlobalModel& sums,
                                             const GlobalPosterior& q) {
  constexpr double most_work = 20000;  // of a step
  const auto classes = model.likelihood().softmax();
  const bool in_memory = classes && !model.source();
  const double N = static_cast<double>(model.rows()), K = static_cast<double>(model.latents());
  const double r = in_memory ? static_cast<double>(classes->classes - 1) : 0;
  const bool steps = in_memory && N * r * r <= most_work;
  const bool responds = in_memory && takes_response(N, K * static_cast<double>(q[0].mean.size()), K);
  if (!steps && !responds) return coupled_posterior(sums, q);
  const Cost cost = model.context().cost;
  const Rows rows(model);
  std::optional<CoupledPosterior> out;
  if (steps) out = best_coupled(model.context(), rows, q);
  if (!out) out = coupled_posterior(sums, q);
  if (out && responds)
    if (auto found = response_covariance(model.context(), rows, *out)) out->covariance = std::move(*found);
  model.context().cost = cost;  // what a fit costs is what the search does
  return out;
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
  std::optional<CoupledPosterior> coupled = coupled_from(model, sums, *factorised);
  if (!coupled) return std::nullopt;
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
