#include "global/chunk.h"

#include "numeric/backend.h"
#include "numeric/dense.h"

namespace galvi {

Chunk::Chunk(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count)
    : begin(begin), count(count), data(rows.data.slice(begin, count)),
      offset(rows.offset.middleRows(begin, count)) {
  std::vector<Vector> means;
  for (const auto& part : model.priors()) {
    const DesignRows& design = *rows.designs[part.design];
    Matrix own(count, part.prior->columns());
    part.prior->fill(design, begin, own);
    Vector c = Vector::Zero(count), mean = Vector::Zero(count);
    part.prior->add_extra_variances(design, begin, own, c);
    part.prior->add_mean(design, begin, mean);
    W.push_back(std::move(own));
    extra.push_back(std::move(c));
    means.push_back(std::move(mean));
  }
  for (Index k = 0; k < offset.cols(); ++k) offset.col(k) += means[model.prior_index(k)];
}

void Chunk::marginals(const LatentGaussianModel& model, const GlobalPosterior& q, Matrix& mean,
                      Matrix& variance, std::vector<Matrix>& X) const {
  mean = offset;
  variance.resize(count, offset.cols());
  X.resize(q.size());
  for (Index k = 0; k < offset.cols(); ++k) {
    const Index i = model.prior_index(k);
    mean.col(k).noalias() += W[i] * q[k].mean;
    X[k] = W[i];
    model.context().backend.triangular_multiply(false, true, 1.0, q[k].root, X[k]);
    variance.col(k) = X[k].rowwise().squaredNorm() + extra[i];  // w' A^-1 w = |U w|^2
  }
}

Sites Chunk::sites(Context& context, const LatentGaussianModel& model, const GlobalPosterior& q, int order,
                   Matrix& mean, Matrix& variance) const {
  std::vector<Matrix> X;
  marginals(model, q, mean, variance, X);
  Expectations e;
  model.expectation().evaluate(context, model.likelihood(), data, mean, variance, order, e);
  Sites out{-2 * e.d_variance, e.d_mean};
  out.b += out.lambda.cwiseProduct(mean - offset);
  return out;
}

void Chunk::add_sites(const LatentGaussianModel& model, const Sites& sites, Contribution& sums) const {
  for (Index k = 0; k < offset.cols(); ++k) {
    const Matrix& own = W[model.prior_index(k)];
    sums.slope[k].noalias() += own.transpose() * sites.b.col(k);
    add_weighted_crossproduct(model.context().backend, own, sites.lambda.col(k), sums.curvature[k]);
  }
}

Contribution empty_sums(const LatentGaussianModel& model, Index rows) {
  Contribution out;
  out.rows = static_cast<double>(rows);
  for (Index k = 0; k < model.latents(); ++k) {
    const Index L = model.predictor(k).prior->columns();
    out.slope.push_back(Vector::Zero(L));
    out.curvature.push_back(Matrix::Zero(L, L));
  }
  return out;
}

}  // namespace galvi
