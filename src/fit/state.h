// What is kept of a posterior: plain values, from which predictions are made without the model's solvers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/couple.h"
#include "rows/row_block.h"

namespace galvi {

/// The coefficients of a term with columns, for all latent values that have it.
struct TermCoefficients {
  std::string label;
  std::vector<Index> latents;
  Matrix mean;                     // q x latents
  std::vector<Matrix> covariance;  // of each, q x q
};

/// The units of a term of factors.
struct TermUnits {
  std::string label;
  UnitMoments moments;
};

struct State {
  Matrix variance;                  // of eta, with what the likelihood was averaged over.   N x K
  Matrix extra;                     // c of the rows, N x K; empty without
  std::vector<SolverState> states;  // K
  std::optional<Coupling> coupling;
  std::vector<TermCoefficients> coefficients;  // of the coupling if there is one
  std::vector<TermUnits> units;
};

/// The model's solvers must be factorised at q. keep_factor: of dense solvers.
State state_of(LatentGaussianModel& model, const Posterior& q, bool keep_factor);

/// Some of the model's rows as new data would be read.
struct CheckedRows {
  std::vector<Index> at;
  std::vector<DesignRows> designs;
};

/// The largest difference between predictions at the rows of `checked` and the fitted values, in posterior
/// sds: the two agree up to rounding. Last digits of a mean do not count; where a posterior has no variance,
/// the unit is a millionth of the prior's sd.
double prediction_error(LatentGaussianModel& model, const Posterior& q,
                        const std::vector<SolverState>& states, const CheckedRows& checked);

}  // namespace galvi
