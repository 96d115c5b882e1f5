// Gibbs sampling of y ~ N(X beta, sigma^2) where each beta_j is normal given a scale of its own.
// [[Rcpp::depends(RcppEigen)]]
#include <RcppEigen.h>

#include <cmath>
#include <functional>
#include <string>

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

double log_half_t(double x, double df, double scale) {  // of log x, up to a constant
  return std::log(x) - 0.5 * (df + 1) * std::log1p(x * x / (df * scale * scale));
}

// One step of slice sampling (Neal 2003), stepping out by `width`.
double slice(double x, double width, const std::function<double(double)>& log_density) {
  const double level = log_density(x) - R::exp_rand();
  double low = x - width * R::unif_rand(), high = low + width;
  while (log_density(low) > level) low -= width;
  while (log_density(high) > level) high += width;
  for (;;) {
    const double y = low + (high - low) * R::unif_rand();
    if (log_density(y) > level) return y;
    (y < x ? low : high) = y;
  }
}

double inverse_gaussian(double mu, double lambda) {  // Michael, Schucany and Haas (1976)
  const double v = std::pow(R::norm_rand(), 2);
  const double x = mu + mu * mu * v / (2 * lambda) - mu / (2 * lambda) * std::sqrt(4 * mu * lambda * v + mu * mu * v * v);
  return R::unif_rand() <= mu / (mu + x) ? x : mu * mu / x;
}

}  // namespace

// prior: list(type, df, scale): "student_t", "double_exponential"; or list(type = "horseshoe", df, global, slab, df_global,
// scale_global, scale_slab, df_slab), of which global = 0 and slab = 0 are sampled. sigma = 0 is sampled with density 1 /
// sigma. Columns with `flat` have a flat prior. Means and variances are averages of those given the scales
// (Rao-Blackwell), in `batches` batches: rows; columns mean, then second moment, then tau, c and sigma.
// [[Rcpp::export]]
Rcpp::NumericMatrix gibbs(const Eigen::Map<VectorXd> y, const Eigen::Map<MatrixXd> X, Rcpp::LogicalVector flat,
                          Rcpp::List prior, double sigma, int draws, int warmup, int batches) {
  const int p = X.cols(), n = X.rows();
  const std::string type = prior["type"];
  const bool horseshoe = type == "horseshoe", learn_sigma = sigma == 0;
  const double df = prior.containsElementNamed("df") ? Rcpp::as<double>(prior["df"]) : 1;
  const auto number = [&](const char* name) { return Rcpp::as<double>(prior[name]); };
  const double scale = horseshoe ? 1 : number("scale");
  double tau = horseshoe ? number("global") : 1, c = horseshoe ? number("slab") : 1;
  const bool learn_tau = tau == 0, learn_c = c == 0;
  if (learn_tau) tau = 0.1;
  if (learn_c) c = number("scale_slab");
  if (learn_sigma) sigma = 1;
  const MatrixXd XX = X.transpose() * X;
  const VectorXd Xy = X.transpose() * y;
  VectorXd lambda = VectorXd::Ones(p), beta = VectorXd::Zero(p), mean(p), variance(p);
  const auto precision = [&](double l, double t, double slab) {
    return horseshoe ? 1 / (t * t * l * l) + 1 / (slab * slab) : 1 / (scale * scale * l * l);
  };
  // log p(y | scales), beta integrated out
  const auto marginal = [&](double t, double slab) {
    MatrixXd A = XX / (sigma * sigma);
    double log_prior = 0;
    for (int j = 0; j < p; ++j) {
      if (flat[j]) continue;
      A(j, j) += precision(lambda[j], t, slab);
      log_prior += 0.5 * std::log(precision(lambda[j], t, slab));
    }
    const Eigen::LLT<MatrixXd> chol(A);
    const VectorXd half = chol.matrixL().solve(Xy) / (sigma * sigma);
    return log_prior - MatrixXd(chol.matrixL()).diagonal().array().log().sum() + 0.5 * half.squaredNorm();
  };
  const int each = draws / batches;
  Rcpp::NumericMatrix out(batches, 2 * p + 3);
  for (int s = -warmup; s < each * batches; ++s) {
    if (learn_tau)
      tau = std::exp(slice(std::log(tau), 1, [&](double u) {
        const double t = std::exp(u);
        return log_half_t(t, number("df_global"), number("scale_global")) + marginal(t, c);
      }));
    if (learn_c)
      c = std::exp(slice(std::log(c), 0.7, [&](double u) {
        const double slab = std::exp(u), a = number("df_slab") / 2, r = a * std::pow(number("scale_slab"), 2);
        return -2 * a * u - r / (slab * slab) + marginal(tau, slab);
      }));
    MatrixXd A = XX / (sigma * sigma);
    for (int j = 0; j < p; ++j)
      if (!flat[j]) A(j, j) += precision(lambda[j], tau, c);
    const Eigen::LLT<MatrixXd> chol(A);
    mean = chol.solve(Xy) / (sigma * sigma);
    VectorXd z(p);
    for (int j = 0; j < p; ++j) z[j] = R::norm_rand();
    beta = mean + chol.matrixU().solve(z);
    if (learn_sigma) sigma = std::sqrt((y - X * beta).squaredNorm() / R::rchisq(n));
    for (int j = 0; j < p; ++j) {
      if (flat[j]) continue;
      const double b2 = beta[j] * beta[j];
      if (type == "student_t") {
        lambda[j] = std::sqrt((df + b2 / (scale * scale)) / R::rchisq(df + 1));
      } else if (type == "double_exponential") {
        lambda[j] = 1 / std::sqrt(inverse_gaussian(scale / std::max(std::fabs(beta[j]), 1e-12), 1.0));
      } else {
        lambda[j] = std::exp(slice(std::log(lambda[j]), 2, [&](double u) {
          const double l = std::exp(u), w = precision(l, tau, c);
          return log_half_t(l, df, 1) + 0.5 * std::log(w) - 0.5 * w * b2;
        }));
      }
    }
    if (s < 0) continue;
    if (s % 100 == 0) Rcpp::checkUserInterrupt();
    variance = chol.solve(MatrixXd::Identity(p, p)).diagonal();
    const int b = s / each;
    for (int j = 0; j < p; ++j) {
      out(b, j) += mean[j] / each;
      out(b, p + j) += (mean[j] * mean[j] + variance[j]) / each;
    }
    out(b, 2 * p) += tau / each;
    out(b, 2 * p + 1) += c / each;
    out(b, 2 * p + 2) += sigma / each;
  }
  return out;
}
