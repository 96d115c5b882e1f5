#include "global/coupled.h"

#include "numeric/dense.h"

namespace galvi {

Matrix newton_matrix(const GlobalModel& model, const GlobalPoint& point) {
  Matrix A = point.sums.joint;
  Index at = 0;
  for (std::size_t k = 0; k < point.q.size(); ++k) {
    const Index L = point.q[k].mean.size();
    A.diagonal().segment(at, L) += model.prior(k).precision();
    at += L;
  }
  return A;
}

std::optional<CoupledPosterior> coupled_posterior(GlobalModel model, const GlobalPosterior& q) {
  const std::optional<GlobalPoint> point = model.at(q, true);
  if (!point) return std::nullopt;
  Matrix A = newton_matrix(model, *point);
  const GlobalStep way = model.step_from(*point);
  CoupledPosterior out;
  out.mean.resize(A.rows());
  Vector slope(A.rows());
  bool coupled = false;
  Index at = 0;
  for (std::size_t k = 0; k < q.size(); ++k) {
    const Index L = q[k].mean.size();
    out.mean.segment(at, L) = q[k].mean;
    slope.segment(at, L) = way.slope[k];
    coupled = coupled || !A.block(at, 0, L, at).isZero(0);
    at += L;
  }
  if (!coupled || !cholesky(model.model().context(), A)) return std::nullopt;
  Matrix root = Matrix::Identity(A.rows(), A.rows());
  solve_lower(model.model().context(), A, root);
  out.covariance.noalias() = root.transpose() * root;
  out.mean.noalias() += out.covariance * slope;
  return out;
}

}  // namespace galvi
