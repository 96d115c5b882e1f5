// The projected solver's posteriors of the whitened latent vector itself.
#include "numeric/backend.h"
#include "numeric/dense.h"
#include "solver/projected.h"

namespace galvi {

LatentGaussian ProjectedSolver::of_sites(const Vector& b) {
  LatentGaussian out{solve(project_sites(b)), inverse_};
  cholesky_with_jitter(context_, out.S);
  out.S.triangularView<Eigen::StrictlyUpper>().setZero();
  return out;
}

void ProjectedSolver::marginals(const LatentGaussian& q, Vector& mean, Vector& variance) const {
  mean.resize(rows_);
  variance.resize(rows_);
  const double flops = static_cast<double>(rows_) * latent_ * latent_;
  columns_.for_chunks(flops, [&](Index, Index begin, MatrixRef chunk) {
    mean.segment(begin, chunk.rows()).noalias() = chunk * q.u;
    context_.backend.triangular_multiply(false, false, 1.0, q.S, chunk);
    variance.segment(begin, chunk.rows()) = chunk.rowwise().squaredNorm();
  });
  if (extra_variances_.size() > 0) variance += extra_variances_;
}

LatentSlope ProjectedSolver::slope(const LatentGaussian& q, const Vector& d_mean, const Vector& d_variance,
                                   VectorRef hyper) const {
  Matrix in_u = Matrix::Zero(latent_, columns_.groups());
  std::vector<Matrix> in_S(columns_.groups(), Matrix::Zero(latent_, latent_));
  const double flops = 4.0 * rows_ * latent_ * latent_;
  for_column_gradients(flops, d_variance, hyper, [&](Index group, Index begin, MatrixRef chunk, MatrixRef G) {
    const auto mean = d_mean.segment(begin, chunk.rows()), variance = d_variance.segment(begin, chunk.rows());
    // G = d_mean u' + 2 diag(d_variance) W~ S S'
    G = chunk;
    context_.backend.triangular_multiply(false, false, 1.0, q.S, G);
    G = (2 * variance).asDiagonal() * G;
    in_u.col(group).noalias() += chunk.transpose() * mean;
    context_.backend.multiply(true, false, 1.0, chunk, G, 1.0, in_S[group]);
    context_.backend.triangular_multiply(false, true, 1.0, q.S, G);
    G.noalias() += mean * q.u.transpose();
  });
  LatentSlope out{in_u.rowwise().sum(), std::move(in_S[0])};
  for (std::size_t group = 1; group < in_S.size(); ++group) out.in_S += in_S[group];
  return out;
}

void ProjectedSolver::hold_basis(bool held) { prior_->hold_basis(held); }

}  // namespace galvi
