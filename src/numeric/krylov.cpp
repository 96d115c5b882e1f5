#include "numeric/krylov.h"

#include <cmath>
#include <vector>

namespace galvi {

Vector gmres(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs, double tolerance,
             int max_iterations) {
  const double beta = rhs.norm();
  if (beta == 0) return Vector::Zero(rhs.size());
  std::vector<Vector> basis = {rhs / beta}, directions;
  // Givens rotations keep the Hessenberg matrix triangular, so that the residual is known at every step.
  Matrix R = Matrix::Zero(max_iterations + 1, max_iterations);
  Vector cosine(max_iterations), sine(max_iterations), g = Vector::Zero(max_iterations + 1);
  g[0] = beta;
  int k = 0;
  while (k < max_iterations) {
    directions.push_back(preconditioner(basis[k]));
    Vector w = A(directions[k]);
    for (int i = 0; i <= k; ++i) {
      R(i, k) = w.dot(basis[i]);
      w -= R(i, k) * basis[i];
    }
    const double next = w.norm();
    for (int i = 0; i < k; ++i) {
      const double upper = R(i, k);
      R(i, k) = cosine[i] * upper + sine[i] * R(i + 1, k);
      R(i + 1, k) = cosine[i] * R(i + 1, k) - sine[i] * upper;
    }
    const double length = std::hypot(R(k, k), next);
    cosine[k] = length > 0 ? R(k, k) / length : 1;
    sine[k] = length > 0 ? next / length : 0;
    R(k, k) = length;
    g[k + 1] = -sine[k] * g[k];
    g[k] *= cosine[k];
    ++k;
    if (std::abs(g[k]) <= tolerance * beta || next <= 1e-14 * beta) break;
    basis.push_back(w / next);
  }
  const Vector y = R.topLeftCorner(k, k).triangularView<Eigen::Upper>().solve(g.head(k));
  Vector x = Vector::Zero(rhs.size());
  for (int i = 0; i < k; ++i) x += y[i] * directions[i];
  return x;
}

Vector conjugate_gradients(const LinearMap& A, const LinearMap& preconditioner, const Vector& rhs,
                           double tolerance, int max_iterations) {
  Vector x = Vector::Zero(rhs.size()), residual = rhs, z = preconditioner(rhs), p = z;
  double size = residual.dot(z);
  const double small = tolerance * tolerance * size;
  for (int i = 0; i < max_iterations && size > small; ++i) {
    const Vector Ap = A(p);
    const double curvature = p.dot(Ap);
    if (!(curvature > 0.0)) break;  // rounding
    x += size / curvature * p;
    residual -= size / curvature * Ap;
    z = preconditioner(residual);
    const double next = residual.dot(z);
    p = z + next / size * p;
    size = next;
  }
  return x;
}

}  // namespace galvi

