#include "numeric/conjugate_gradients.h"

#include <cmath>

namespace galvi {

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
