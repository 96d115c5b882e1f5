// The model of bench/spde.R for TMB: a Matern field on the same matrices, counts or numbers at places on the mesh.
#include <TMB.hpp>

template <class Type>
Type objective_function<Type>::operator()() {
  DATA_VECTOR(y);
  DATA_INTEGER(counts);
  DATA_SPARSE_MATRIX(A);  // N x L, barycentric weights
  DATA_SPARSE_MATRIX(C);
  DATA_SPARSE_MATRIX(G);
  DATA_SPARSE_MATRIX(GG);
  DATA_VECTOR(rates);         // of the pc priors: 1 / range and sd are exponential
  DATA_VECTOR(intercept_prior);  // mean, sd
  PARAMETER(log_range);
  PARAMETER(log_sd);
  PARAMETER(log_noise);
  PARAMETER(intercept);
  PARAMETER_VECTOR(u);

  const Type range = exp(log_range), sd = exp(log_sd), kappa = sqrt(Type(8)) / range;
  const Type tau = 1 / (sqrt(4 * M_PI) * kappa * sd);
  const Eigen::SparseMatrix<Type> Q = pow(kappa, 4) * C + 2 * kappa * kappa * G + GG;
  Type out = density::SCALE(density::GMRF(Q), 1 / tau)(u);
  out -= dnorm(intercept, intercept_prior[0], intercept_prior[1], true);
  // densities of log range and log sd
  out -= log(rates[0]) - log_range - rates[0] / range;
  out -= log(rates[1]) + log_sd - rates[1] * sd;
  const vector<Type> eta = intercept + A * u;
  if (counts)
    out -= dpois(y, vector<Type>(exp(eta)), true).sum();
  else
    out -= dnorm(y, eta, exp(log_noise), true).sum();
  return out;
}
