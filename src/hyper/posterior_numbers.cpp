#include "hyper/posterior_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "inference/coordinates.h"
#include "solver/latent_form.h"

namespace galvi {

namespace {

constexpr double none = -std::numeric_limits<double>::infinity();

class OfSites final : public PosteriorNumbers {
 public:
  OfSites(LatentGaussianModel& model, const Posterior& start, Index hypers)
      : model_(model), hypers_(hypers), coordinates_(start, model.lambda_floor()), sites_(start.sites) {}

  Vector origin() const override { return coordinates_.origin(); }
  double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) override {
    const auto q = coordinates_.at(model_, x);
    if (!q) return none;
    gradient = coordinates_.gradient(model_, *q);
    hyper_gradient = model_.gradient(*q, hypers_, false);
    sites_ = q->sites;
    return q->elbo;
  }
  Sites sites() const override { return sites_; }

 private:
  LatentGaussianModel& model_;
  Index hypers_;
  NaturalCoordinates coordinates_;
  Sites sites_;
};

/// u = u_0 + P t and S = P R around the first posterior (u_0, P), in whose units the bound's curvature is of
/// order one. The numbers are t and the lower triangular R, by columns and its diagonal by logarithms.
class OfLatents final : public PosteriorNumbers {
 public:
  OfLatents(LatentGaussianModel& model, const Posterior& start, Index hypers)
      : model_(model), hypers_(hypers), centred_(start.centred) {
    for (Index k = 0; k < model.latents(); ++k) {
      forms_.push_back(model.solver(k).latent_form());
      bases_.push_back(forms_[k]->of_sites(start.sites.b.col(k)));
    }
  }

  Vector origin() const override {
    Index size = 0;
    for (const LatentGaussian& base : bases_) size += numbers(base);
    return Vector::Zero(size);
  }

  double bound(const Vector& x, VectorRef gradient, Vector& hyper_gradient) override {
    const Index N = model_.rows(), K = model_.latents();
    std::vector<LatentGaussian> q(K);
    std::vector<Matrix> R(K);
    Matrix variance(N, K);
    double value = 0;
    Index at = 0;
    for (Index k = 0; k < K; ++k) {
      const LatentGaussian& base = bases_[k];
      R[k] = factor(x.data() + at + base.u.size(), base.u.size());
      q[k].u = base.u + base.S.triangularView<Eigen::Lower>() * x.segment(at, base.u.size());
      q[k].S = base.S.triangularView<Eigen::Lower>() * R[k];
      // KL = [|u|^2 + |S|^2 - L] / 2 - log|S|
      value -= 0.5 * (q[k].u.squaredNorm() + q[k].S.squaredNorm() - static_cast<double>(base.u.size())) -
               q[k].S.diagonal().array().log().sum();
      Vector mean, spread;
      forms_[k]->marginals(q[k], mean, spread);
      centred_.col(k) = mean;
      variance.col(k) = spread;
      at += numbers(base);
    }
    if (!std::isfinite(value) || !centred_.allFinite() || !variance.allFinite()) return none;
    const Matrix mean = model_.prior_mean() + centred_;
    model_.expect(mean, variance, 1, expectations_);
    const Expectations& e = expectations_;
    value += e.value.sum();
    if (!std::isfinite(value) || !e.d_mean.allFinite() || !e.d_variance.allFinite()) return none;

    hyper_gradient.setZero(hypers_);
    if (model_.likelihood().has_hyper())
      model_.expectation().add_gradient(model_.context(), model_.likelihood(), model_.data(), mean, variance,
                                        hyper_gradient);
    at = 0;
    for (Index k = 0; k < K; ++k) {
      const LatentGaussian& base = bases_[k];
      const Index L = base.u.size();
      const LatentSlope slope = forms_[k]->slope(q[k], e.d_mean.col(k), e.d_variance.col(k), hyper_gradient);
      const auto P = base.S.triangularView<Eigen::Lower>();
      gradient.segment(at, L) = P.transpose() * (slope.in_u - q[k].u);
      Matrix in_R = P.transpose() * (slope.in_S - q[k].S);
      in_R.diagonal() += R[k].diagonal().cwiseInverse();
      in_R.diagonal().array() *= R[k].diagonal().array();
      double* out = gradient.data() + at + L;
      for (Index j = 0; j < L; ++j) out = std::copy_n(in_R.col(j).data() + j, L - j, out);
      at += numbers(base);
    }
    return value;
  }

  Sites sites() const override {
    Sites out;
    out.lambda = -2.0 * expectations_.d_variance;
    out.b = expectations_.d_mean + out.lambda.cwiseProduct(centred_);
    return out;
  }

 private:
  static Index numbers(const LatentGaussian& base) {
    const Index L = base.u.size();
    return L + L * (L + 1) / 2;
  }
  static Matrix factor(const double* x, Index L) {
    Matrix R = Matrix::Zero(L, L);
    for (Index j = 0; j < L; ++j, x += L - j + 1) {
      std::copy_n(x, L - j, R.col(j).data() + j);
      R(j, j) = std::exp(R(j, j));
    }
    return R;
  }

  LatentGaussianModel& model_;
  Index hypers_;
  std::vector<LatentForm*> forms_;
  std::vector<LatentGaussian> bases_;
  Matrix centred_;
  Expectations expectations_;
};

}  // namespace

std::unique_ptr<PosteriorNumbers> numbers_around(LatentGaussianModel& model, const Posterior& start,
                                                 Index hypers) {
  if (!model.has_latent_forms()) return std::make_unique<OfSites>(model, start, hypers);
  return std::make_unique<OfLatents>(model, start, hypers);
}

}  // namespace galvi
