#include "fit/gaussian_points.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "numeric/even_points.h"

namespace galvi {

namespace {

/// R with R R' = A, of any rank.
Matrix root_of(const Matrix& A) {
  constexpr Index many = 300;  // an eigendecomposition takes thirty times as long
  if (A.rows() > many)
    if (const Eigen::LLT<Matrix> root(A); root.info() == Eigen::Success) return root.matrixL();
  const Eigen::SelfAdjointEigenSolver<Matrix> parts(A);
  return parts.eigenvectors() * parts.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

double reach(Index m) { return std::max(std::sqrt(3.0), 1.1 * std::sqrt(static_cast<double>(m))); }

}  // namespace

Matrix gaussian_points(const Vector& mean, const Matrix& covariance) {
  const Index D = mean.size(), half = std::max<Index>(500, 2 * D);
  const Matrix z = even_points(half, D).unaryExpr([](double u) { return normal_quantile(u); });
  // each with its mirror image, and stretched to have the identity as covariance
  const Matrix S = z.transpose() * z / static_cast<double>(half);
  const Eigen::LLT<Matrix> own(S);
  const Vector unit = covariance.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const Matrix root = unit.asDiagonal() * root_of(unit.cwiseInverse().asDiagonal() * covariance *
                                                  unit.cwiseInverse().asDiagonal());
  const Matrix move = own.matrixL().solve(z.transpose()).transpose() * root.transpose();
  Matrix out(2 * half, D);
  out.topRows(half) = move.rowwise() + mean.transpose();
  out.bottomRows(half) = (-move).rowwise() + mean.transpose();
  return out;
}

Matrix star_design(Index m) {
  Matrix out = Matrix::Zero(2 * m + 1, m);
  for (Index k = 0; k < m; ++k) {
    out(1 + k, k) = reach(m);
    out(1 + m + k, k) = -reach(m);
  }
  return out;
}

std::optional<CoefficientGaussian> star_gaussian(const HyperPosterior& posterior,
                                                 const std::vector<StarState>& states) {
  constexpr double most_gain = 5, most_loss = 3;  // nats from the Gaussian approximation
  const Index m = posterior.size(), L = states[0].coefficients.mean.size();
  const double square = reach(m) * reach(m), dimensions = static_cast<double>(m);
  std::vector<Vector> at;
  Vector weight(states.size());
  for (std::size_t s = 0; s < states.size(); ++s) {
    const double gain = states[s].log_density - states[0].log_density + 0.5 * states[s].z.squaredNorm();
    if (gain < -most_loss) return std::nullopt;
    const double rule = states[s].z.isZero(0) ? 1 - dimensions / square : 0.5 / square;
    weight[s] = rule * std::exp(std::min(gain, most_gain));
    Vector both(L + m);
    both.head(L) = states[s].coefficients.mean;
    const Vector x = posterior.place(states[s].z);
    for (Index k = 0; k < m; ++k) both[L + k] = x[posterior.free[k]];
    at.push_back(std::move(both));
  }
  weight /= weight.sum();
  CoefficientGaussian out{Vector::Zero(L + m), Matrix::Zero(L + m, L + m)};
  for (std::size_t s = 0; s < states.size(); ++s) out.mean += weight[s] * at[s];
  for (std::size_t s = 0; s < states.size(); ++s) {
    const Vector away = at[s] - out.mean;
    out.covariance += weight[s] * away * away.transpose();
    out.covariance.topLeftCorner(L, L) += weight[s] * states[s].coefficients.covariance;
  }
  return out;
}

}  // namespace galvi
