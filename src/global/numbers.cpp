#include "global/numbers.h"

#include <cmath>

#include "numeric/dense.h"

namespace galvi {

namespace {

Index numbers_of(const LatentPosterior& base) {
  const Index L = base.mean.size();
  return L + L * (L + 1) / 2;
}

Matrix factor(const double* x, Index L) {
  Matrix R = Matrix::Zero(L, L);
  for (Index j = 0; j < L; ++j, x += L - j + 1) {
    std::copy_n(x, L - j, R.col(j).data() + j);
    R(j, j) = std::exp(R(j, j));
  }
  return R;
}

}  // namespace

Index LatentNumbers::size() const {
  Index out = 0;
  for (const LatentPosterior& base : base_) out += numbers_of(base);
  return out;
}

std::optional<GlobalPosterior> LatentNumbers::read(Context& context, const ConstVectorRef& x) const {
  GlobalPosterior out;
  Index at = 0;
  for (const LatentPosterior& base : base_) {
    const Index L = base.mean.size();
    LatentPosterior q;
    q.mean = base.mean + base.root.triangularView<Eigen::Lower>().transpose() * x.segment(at, L);
    q.root = factor(x.data() + at + L, L).triangularView<Eigen::Lower>() * base.root;
    if (!q.mean.allFinite() || !q.root.allFinite() || !(q.root.diagonal().minCoeff() > 0))
      return std::nullopt;
    q.log_det = -2 * q.root.diagonal().array().log().sum();
    Matrix inverse = q.root;
    invert_lower(context, inverse);
    q.precision = inverse.triangularView<Eigen::Lower>() * inverse.transpose();
    out.push_back(std::move(q));
    at += numbers_of(base);
  }
  return out;
}

// d bound / dU = -lower(U D), D as in GlobalStep.
void LatentNumbers::gradient(const GlobalModel& model, const GlobalPoint& point, const ConstVectorRef& x,
                             VectorRef out) const {
  const GlobalStep way = model.step_from(point);
  Index at = 0;
  for (std::size_t k = 0; k < base_.size(); ++k) {
    const LatentPosterior& base = base_[k];
    const Index L = base.mean.size();
    out.segment(at, L) = base.root.triangularView<Eigen::Lower>() * way.slope[k];
    const Matrix in_U = (-(point.q[k].root.triangularView<Eigen::Lower>() * way.change[k]))
                            .eval()
                            .triangularView<Eigen::Lower>();
    const Matrix in_R = in_U * base.root.transpose().triangularView<Eigen::Upper>();
    const Matrix R = factor(x.data() + at + L, L);
    double* to = out.data() + at + L;
    for (Index j = 0; j < L; ++j) {
      *to = in_R(j, j) * R(j, j);
      std::copy_n(in_R.col(j).data() + j + 1, L - j - 1, to + 1);
      to += L - j;
    }
    at += numbers_of(base);
  }
}

}  // namespace galvi
