#include "quadrature/class_nodes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "quadrature/normal_rule.h"

namespace galvi {

namespace {

constexpr Index hermite_nodes = 15;

NormalRule fifth_degree_rule(Index r) {
  const double d = static_cast<double>(r);
  NormalRule out{Matrix::Zero(2 * r * r + 1, r), Vector::Constant(2 * r * r + 1, 1 / ((d + 2) * (d + 2)))};
  out.weight[0] = 2 / (d + 2);
  Index at = 1;
  for (Index i = 0; i < r; ++i)
    for (const double sign : {1.0, -1.0}) {
      out.weight[at] = (4 - d) / (2 * (d + 2) * (d + 2));
      out.nodes(at++, i) = sign * std::sqrt(d + 2);
    }
  for (Index i = 0; i < r; ++i)
    for (Index j = 0; j < i; ++j)
      for (const double first : {1.0, -1.0})
        for (const double second : {1.0, -1.0}) {
          out.nodes(at, i) = first * std::sqrt(0.5 * (d + 2));
          out.nodes(at++, j) = second * std::sqrt(0.5 * (d + 2));
        }
  return out;
}

/// The rule of up to two variables, made once.
const NormalRule& made_rule(Index r) {
  static const NormalRule one = product_rule(1, hermite_nodes), two = product_rule(2, hermite_nodes);
  return r == 1 ? one : two;
}

/// For independent N(0, variances) variables.
NormalRule normal_rule(const Vector& variances) {
  const Index r = variances.size();
  if (r == 0) return {Matrix(1, 0), Vector::Ones(1)};
  NormalRule out = r <= 2 ? made_rule(r) : fifth_degree_rule(r);
  out.nodes = out.nodes * variances.cwiseSqrt().asDiagonal();
  return out;
}

}  // namespace

Matrix class_contrasts(Index C) {
  Matrix out = Matrix::Zero(C, C - 1);
  for (Index j = 1; j < C; ++j) {
    const double size = std::sqrt(static_cast<double>(j * (j + 1)));
    out.col(j - 1).head(j).setConstant(1 / size);
    out(j, j - 1) = -static_cast<double>(j) / size;
  }
  return out;
}

ClassNodes class_nodes(const Vector& mean, const Matrix& V) {
  const Index C = mean.size();
  const double c = static_cast<double>(C);
  const Vector off = V.rowwise().sum() - V.diagonal();
  // the off-diagonals of V + 1s' + s1' add up to zero in each row
  const Vector s = C == 2 ? Vector(Vector::Constant(2, -0.5 * V(0, 1)))
                          : Vector((off.sum() / (2 * (c - 1)) - off.array()) / (c - 2));
  // what matters: the covariance of contrasts
  const Matrix basis = class_contrasts(C);
  const Matrix whole = basis.transpose() * V * basis;
  const double scale = whole.diagonal().maxCoeff();
  if (scale <= 1e-14 * V.cwiseAbs().maxCoeff())
    return {mean.transpose(), Matrix::Zero(1, C), Vector::Ones(1)};
  // Independent parts may not take more than there is: the largest t for which whole - t B'DB is a covariance
  // is the smallest eigenvalue of whole x = t B'DB x.
  Vector D = (V.diagonal() + 2 * s).cwiseMax(0.05 * scale);
  const Matrix independent = basis.transpose() * D.asDiagonal() * basis;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Matrix> ratio(whole, independent, Eigen::EigenvaluesOnly);
  D *= std::clamp(ratio.eigenvalues()[0], 0.0, 1.0);
  const Eigen::SelfAdjointEigenSolver<Matrix> rest(whole - basis.transpose() * D.asDiagonal() * basis);
  const Index kept = (rest.eigenvalues().array() > 1e-10 * scale).count();  // the last ones
  const NormalRule rule = normal_rule(rest.eigenvalues().tail(kept));
  const Matrix axes = basis * rest.eigenvectors().rightCols(kept);
  return {(rule.nodes * axes.transpose()).rowwise() + mean.transpose(),
          D.transpose().replicate(rule.weight.size(), 1), rule.weight};
}

}  // namespace galvi
