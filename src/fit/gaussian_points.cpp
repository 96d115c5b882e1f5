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

// The distance of the outer points of Gauss and Hermite's rule of three points.
const double star_reach = std::sqrt(3.0), star_square = 3.0;

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
    out(1 + k, k) = star_reach;
    out(1 + m + k, k) = -star_reach;
  }
  return out;
}

std::optional<CoefficientGaussian> star_gaussian(const HyperPosterior& posterior,
                                                 const std::vector<StarState>& states) {
  constexpr double most_gain = 5, most_loss = 3;  // nats from the Gaussian approximation
  const Index m = posterior.size(), L = states[0].coefficients.mean.size();
  const auto place = [&](const StarState& state) {
    Vector both(L + m);
    both.head(L) = state.coefficients.mean;
    const Vector x = posterior.place(state.z);
    for (Index k = 0; k < m; ++k) both[L + k] = x[posterior.free[k]];
    return both;
  };
  const Vector centre = place(states[0]);
  CoefficientGaussian out{centre, Matrix::Zero(L + m, L + m)};
  Matrix given = states[0].coefficients.covariance;
  for (Index axis = 0; axis < m; ++axis) {
    double sum = 1 - 1 / star_square;
    Vector first = Vector::Zero(L + m);
    Matrix second = Matrix::Zero(L + m, L + m), more = Matrix::Zero(L, L);
    int sides = 0;
    for (const StarState& state : states) {
      if (state.z[axis] == 0) continue;
      const double gain = state.log_density - states[0].log_density + 0.5 * state.z.squaredNorm();
      if (gain < -most_loss) return std::nullopt;
      const double weight = 0.5 / star_square * std::exp(std::min(gain, most_gain));
      const Vector away = place(state) - centre;
      ++sides;
      sum += weight;
      first += weight * away;
      second += weight * away * away.transpose();
      more += weight * (state.coefficients.covariance - states[0].coefficients.covariance);
    }
    if (sides < 2) return std::nullopt;
    first /= sum;
    out.mean += first;
    out.covariance += second / sum - first * first.transpose();
    given += more / sum;
  }
  if (Eigen::LLT<Matrix>(given).info() != Eigen::Success) return std::nullopt;
  out.covariance.topLeftCorner(L, L) += given;
  return out;
}

}  // namespace galvi
