// The sampler of bench/mcmc.R: y given eta = X b + effects(theta, u), with b and u white noise a priori.
//
// A sweep moves (b, u) by elliptical slice sampling (Murray, Adams and MacKay 2010), and theta by random walks, once
// with u fixed and once with the effects themselves fixed (Yu and Meng 2011).
// [[Rcpp::depends(RcppEigen)]]
#include <RcppEigen.h>

#include <memory>

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

VectorXd white(Eigen::Index n) {
  VectorXd out(n);
  for (Eigen::Index i = 0; i < n; ++i) out[i] = R::norm_rand();
  return out;
}

/// Effects are root(theta) u; `rows` carries them to the observations.
struct Effects {
  virtual ~Effects() = default;
  virtual void set(const VectorXd& theta) = 0;
  virtual VectorXd of(const VectorXd& u) const = 0;
  virtual VectorXd back(const VectorXd& effects) const = 0;
  virtual double log_det() const = 0;
  virtual VectorXd rows(const VectorXd& effects) const = 0;
};

/// One number for each group; theta is the logarithm of their variance.
struct Groups final : Effects {
  Eigen::VectorXi group;
  Eigen::Index count;
  double sd = 1;
  Groups(const Eigen::VectorXi& group, Eigen::Index count) : group(group), count(count) {}
  void set(const VectorXd& theta) override { sd = std::exp(theta[0] / 2); }
  VectorXd of(const VectorXd& u) const override { return sd * u; }
  VectorXd back(const VectorXd& effects) const override { return effects / sd; }
  double log_det() const override { return static_cast<double>(count) * std::log(sd); }
  VectorXd rows(const VectorXd& effects) const override {
    VectorXd out(group.size());
    for (Eigen::Index n = 0; n < out.size(); ++n) out[n] = effects[group[n] - 1];
    return out;
  }
};

/// A process with a squared exponential kernel; theta is log variance, log lengthscale.
struct Process final : Effects {
  MatrixXd squares;
  Eigen::LLT<MatrixXd> root;
  explicit Process(const MatrixXd& squares) : squares(squares) {}
  void set(const VectorXd& theta) override {
    const double variance = std::exp(theta[0]);
    MatrixXd K = variance * (squares.array() * (-0.5 * std::exp(-2 * theta[1]))).exp();
    K.diagonal().array() += 1e-8 * variance;
    root.compute(K);
  }
  VectorXd of(const VectorXd& u) const override { return root.matrixL() * u; }
  VectorXd back(const VectorXd& effects) const override { return root.matrixL().solve(effects); }
  double log_det() const override { return root.matrixLLT().diagonal().array().log().sum(); }
  VectorXd rows(const VectorXd& effects) const override { return effects; }
};

}  // namespace

// X has its columns times their prior sds. theta ~ N(prior_mean, prior_sd^2). y: 0 and 1 if `binary`, else counts.
// Every `thin`-th sweep is kept: b, theta, eta.
// [[Rcpp::export]]
MatrixXd sample_posterior(const MatrixXd& X, const VectorXd& y, bool binary, const Eigen::VectorXi& group,
                          const MatrixXd& squares, const VectorXd& prior_mean, const VectorXd& prior_sd,
                          const VectorXd& step, double sweeps, int thin) {
  const Eigen::Index N = y.size(), q = X.cols(), H = prior_mean.size();
  const Eigen::Index L = squares.rows() ? squares.rows() : group.maxCoeff();
  const auto make = [&]() -> std::unique_ptr<Effects> {
    if (squares.rows()) return std::make_unique<Process>(squares);
    return std::make_unique<Groups>(group, L);
  };
  std::unique_ptr<Effects> now = make(), then = make();
  const auto log_likelihood = [&](const VectorXd& eta) {
    if (!binary) return (y.array() * eta.array() - eta.array().exp()).sum();
    return (y.array() * eta.array() - eta.array().max(0.0) - (-eta.array().abs()).exp().log1p()).sum();
  };
  const auto log_prior = [&](const VectorXd& theta) {
    return -0.5 * ((theta - prior_mean).array() / prior_sd.array()).square().sum();
  };
  const auto predictor = [&](const Effects& effects, const VectorXd& b, const VectorXd& u) {
    return VectorXd(X * b + effects.rows(effects.of(u)));
  };
  VectorXd theta = prior_mean, b = VectorXd::Zero(q), u = white(L);
  now->set(theta);
  VectorXd eta = predictor(*now, b, u);
  double value = log_likelihood(eta);
  const long warmup = static_cast<long>(sweeps / 10), last = warmup + static_cast<long>(sweeps);
  MatrixXd kept(static_cast<long>(sweeps) / thin, q + H + N);
  for (long sweep = 1; sweep <= last; ++sweep) {
    if (sweep % 1000 == 0) Rcpp::checkUserInterrupt();
    for (int again = 0; again < 3; ++again) {
      // the ellipse through (b, u) and a draw from the prior
      const VectorXd other_b = white(q), other_u = white(L), other = predictor(*now, other_b, other_u);
      const double least = value + std::log(R::unif_rand());
      double angle = R::unif_rand() * 2 * M_PI, low = angle - 2 * M_PI, high = angle;
      for (;;) {
        const VectorXd trial = eta * std::cos(angle) + other * std::sin(angle);
        value = log_likelihood(trial);
        if (value > least) {
          eta = trial;
          break;
        }
        (angle < 0 ? low : high) = angle;
        angle = low + (high - low) * R::unif_rand();
      }
      b = b * std::cos(angle) + other_b * std::sin(angle);
      u = u * std::cos(angle) + other_u * std::sin(angle);
    }
    {  // theta, with u fixed
      const VectorXd trial = theta + step[0] * white(H);
      then->set(trial);
      const VectorXd trial_eta = predictor(*then, b, u);
      const double trial_value = log_likelihood(trial_eta);
      if (std::log(R::unif_rand()) < trial_value - value + log_prior(trial) - log_prior(theta)) {
        theta = trial;
        eta = trial_eta;
        value = trial_value;
        std::swap(now, then);
      }
    }
    {  // theta, with the effects fixed: eta stays
      const VectorXd effects = now->of(u), trial = theta + step[1] * white(H);
      then->set(trial);
      const VectorXd trial_u = then->back(effects);
      const double ratio = now->log_det() - then->log_det() + 0.5 * (u.squaredNorm() - trial_u.squaredNorm()) +
                           log_prior(trial) - log_prior(theta);
      if (std::log(R::unif_rand()) < ratio) {
        theta = trial;
        u = trial_u;
        std::swap(now, then);
        eta = predictor(*now, b, u);
        value = log_likelihood(eta);
      }
    }
    if (sweep > warmup && (sweep - warmup) % thin == 0)
      kept.row((sweep - warmup) / thin - 1) << b.transpose(), theta.transpose(), eta.transpose();
  }
  return kept;
}
