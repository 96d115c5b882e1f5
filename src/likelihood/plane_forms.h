// Log densities of two latent values, and of three of a student, in forms whose expectations are integrals over one
// variable, or over two where the inner ones share their samples.
#pragma once

#include "likelihood/log_gamma_part.h"

namespace galvi {

/// A mean mu = 1 / (1 + exp(-eta_1)) shares a precision exp(eta_2) with nu = 1 - mu: log p is
///   constant + slope eta_2 + share_weight (log mu + log nu) - divergence(mu, proportion) exp(eta_2)
///   + whole(eta_2) + first(eta_2 + log mu) + second(eta_2 + log nu),
/// with the Kullback-Leibler divergence of binary variables, and none of it where there is no proportion.
struct Shares {
  double constant = 0.0, slope = 0.0, share_weight = 0.0;
  double proportion = 0.0;  // 0 for none
  LogGammaPart whole, first, second;
};

/// mu log(mu / y) + (1 - mu) log((1 - mu) / (1 - y)), mu = 1 / (1 + exp(-eta)), with the digits of small values.
double binary_divergence(double eta, double y);

/// With x = (y - eta_1) exp(-eta_2):  log p = constant - eta_2 - (df + 1) / 2 log(1 + x^2 / df).
/// constant_slope: d constant / d df.
struct StudentScale {
  double y, df, constant, constant_slope;
  Index position;  // of df among the hyperparameters
};

/// The same with df = exp(eta_3), constant its function: log p of three latent values.
struct StudentTails {
  double y;
};

/// With sp(x) = log(1 + exp(x)) and delta = eta_1 - eta_2:
///   log p = constant + alone(eta_2) - count sp(-delta) - exp(eta_2) sp(delta).
struct MeanOverSize {
  double constant, count;
  LogGammaPart alone;
};

/// With h(x) = exp(-x) log(1 + exp(x)):
///   log p = constant + count log sigmoid(eta_2) - exp(eta_1) h(eta_2) + both(eta_1 - eta_2).
struct MeanOverDispersion {
  double constant, count;
  LogGammaPart both;
};

}  // namespace galvi
