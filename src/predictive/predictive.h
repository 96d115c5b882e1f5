// Predictions of a new response, given the Gaussian marginals of eta: means, tails, quantiles, classes.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// Predictive quantities under eta ~ N(mean, variance), by quadrature to 1e-9 (absolute or relative). K = 1.
double predictive_mean(const Likelihood& likelihood, const Datum& row, double mean, double variance);
/// log of E y of one trial, sign = 1, or of 1 - E y, sign = -1, where y lies between 0 and 1; of E y alone
/// where y is positive.
double predictive_log_mean(const Likelihood& likelihood, double mean, double variance, double sign);
/// Var(E[y | eta]): the squared standard error of the response.
double predictive_mean_variance(const Likelihood& likelihood, const Datum& row, double mean, double variance);
/// Var(y), law of total variance.
double predictive_variance(const Likelihood& likelihood, const Datum& row, double mean, double variance);
double predictive_log_density(const Likelihood& likelihood, const Datum& datum, double mean, double variance);
Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, double mean, double variance);
/// The smallest y (integer for a discrete response) with P(Y <= y) >= probability.
double predictive_quantile(const Likelihood& likelihood, const Datum& row, double mean, double variance,
                           double probability);

/// The same for a likelihood with one latent value or with several linear predictors, under independent eta_k ~
/// N(mean_k, variance_k).   mean, variance: K
double predictive_mean(const Likelihood& likelihood, const Datum& row, const double* mean, const double* variance);
double predictive_log_mean(const Likelihood& likelihood, const double* mean, const double* variance,
                           double sign);
double predictive_mean_variance(const Likelihood& likelihood, const Datum& row, const double* mean,
                                const double* variance);
double predictive_variance(const Likelihood& likelihood, const Datum& row, const double* mean,
                           const double* variance);
double predictive_log_density(const Likelihood& likelihood, const Datum& datum, const double* mean,
                              const double* variance);
Tails predictive_tails(const Likelihood& likelihood, const Datum& datum, const double* mean,
                       const double* variance);
double predictive_quantile(const Likelihood& likelihood, const Datum& row, const double* mean,
                           const double* variance, double probability);
/// 2 (max log p(y | .) - log p(y | eta)), the maximum over the first latent value; infinite where log p has no upper
/// bound. Any K of which the others are parameters.
double unit_deviance(const Likelihood& likelihood, const Datum& datum, const double* eta);
class PredictedParameter;
/// An approximate distribution of a response whose last parameter is predicted: eta_K at seven Gauss-Hermite
/// nodes.   mean, variance: K, which must outlive it
class FewNodes {
 public:
  FewNodes(const PredictedParameter& likelihood, const double* mean, const double* variance);
  Tails tails(const Datum& datum) const;

 private:
  const double *mean_, *variance_;
  std::vector<double> weights_;
  std::vector<std::unique_ptr<Likelihood>> given_;
};
/// The distribution of a zero-inflated or hurdle response; empty for others.
std::optional<double> zero_mixture_quantile(const Likelihood& likelihood, const Datum& row, const double* mean,
                                            const double* variance, double probability);

/// log of the probability of counts of classes.
double predictive_counts_log_density(const Softmax& classes, const Datum& datum, const double* mean,
                                     const double* variance);

/// P(y = c) and, unless null, E p(y = c | eta)^2 for every class of a likelihood that has classes, under
/// independent eta_k ~ N(mean_k, variance_k).   mean, variance: K; probability, second_moment: classes()
void predictive_classes(const Likelihood& likelihood, const double* mean, const double* variance,
                        double* probability, double* second_moment);

/// The same of rows whose latent values are known, many at a time, for any hyperparameters of the likelihood.
class CertainClasses {
 public:
  explicit CertainClasses(const Likelihood& likelihood) : likelihood_(likelihood) {}
  /// eta: n x K, finite.   n x C
  Matrix operator()(const Matrix& eta);

 private:
  void prepare(Index rows);

  const Likelihood& likelihood_;
  Index rows_ = 0;
  std::vector<PreparedRows> classes_;  // of that many rows, all of which have this class
};

}  // namespace galvi
