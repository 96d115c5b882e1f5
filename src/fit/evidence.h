// How far the log evidence is above the bound, by what rows have beyond a quadratic function.
//
// The log density f_n of one latent value a row is a quadratic function of it and a rest r_n, which begins with the third
// Hermite polynomial. At the optimum the log evidence is above the bound by log E_q exp(sum_n r_n), to third order by
//   sum_m c_m,   c_m = E f_m''' sum_n E f_n''' V_nm^3 / 12.
// It grows with the variance of groups of few binary rows or small counts, of which exp(bound) makes too little. The series
// is one for small terms alone. So c_m says how much row m shares in what the rows like it have together, and how many
// these are, J_m = |c_m| / a_m, where a_m is the part of m alone; what they have is taken from J_m rows of the very same
// latent value, log E exp(J_m r_m), one integral, which is J_m^2 a_m to third order. For groups of like rows it is exact
// but for what is uncertain beside the group's effect.
#pragma once

#include <vector>

#include "model/latent_gaussian_model.h"
#include "model/posterior.h"

namespace galvi {

/// Each state keeps some numbers of every row.
inline constexpr Index most_rows_of_states = 100000;

class EvidenceAboveBound {
 public:
  /// Nothing is known.
  EvidenceAboveBound() = default;
  /// The rows m that are summed over: all, or some, chosen by what they have at q, which stand for the others. Of these
  /// rows are visited until the standard error of the sum is below 0.003 nats: in large data it is often next to nothing.
  EvidenceAboveBound(LatentGaussianModel& model, const Posterior& q);
  /// At any hyperparameters of the model, with q there. Zero where nothing is known: with several latent values, bounds of
  /// expectations, more rows than states may have.
  double operator()(LatentGaussianModel& model, const Posterior& q) const;

 private:
  void choose(LatentGaussianModel& model, const Posterior& q);

  /// Rows whose covariances are computed at a time.
  struct Block {
    std::vector<Index> at;  // in rows_
    PreparedRows rows;
  };

  std::vector<Index> rows_;
  Vector stands_for_;  // so many rows each
  std::vector<Block> blocks_;
};

}  // namespace galvi
