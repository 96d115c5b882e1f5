// How far the log evidence is above the bound, by the third derivatives of the likelihood.
//
// The log density f_n of one latent value a row is a quadratic function of it and a rest, which begins with the third
// Hermite polynomial. At the optimum the bound misses half the variance of the sum of the rests under q, to third order
//   sum_m c_m,   c_m = E f_m''' sum_n E f_n''' V_nm^3 / 12.
// It grows with the variance of groups of few binary rows or small counts, of which exp(bound) makes too little. The series
// is one for small terms. Where C_m = c_m^2 / (the part of m alone), what the rows like m have together, is large, as with
// counts of zero under wide priors, the gap grows more slowly and (sqrt(1 + 2 k C_m) - 1) / k stands for C_m.
#pragma once

#include <vector>

#include "model/latent_gaussian_model.h"
#include "model/posterior.h"

namespace galvi {

class EvidenceAboveBound {
 public:
  /// The rows m that are summed over: all, or some, chosen by what they have at q, which stand for the others.
  EvidenceAboveBound(LatentGaussianModel& model, const Posterior& q);
  /// At any hyperparameters of the model, with q there. Zero where nothing is known: with several latent values, bounds of
  /// expectations, more than 3,000 rows.
  double operator()(LatentGaussianModel& model, const Posterior& q) const;

 private:
  std::vector<Index> rows_;
  Vector stands_for_;  // so many rows each
};

}  // namespace galvi
