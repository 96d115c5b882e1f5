// Learning factors (prior/factors_term.h) by alternating steps, where L-BFGS over loadings and scores would take
// ten times as many passes.
#pragma once

#include "hyper/optimise.h"

namespace galvi {

/// Where learning starts, from the response alone: the effects by least squares of each row's own eta, the
/// loadings by a singular value decomposition of what is left, with zeros where nothing was seen.
struct FactorStart {
  Matrix loadings;  // d x p
  Matrix effects;   // q x p
};
/// eta: what fits each row alone, less the offset.   N
FactorStart factor_start(Context& context, const TermRows& rows, const Vector& eta, const Vector& weight, Index units,
                         Index items, Index dimension, Index effects);

/// The term that alternate() learns: a single predictor's, all of whose loadings and effects are learned, with the
/// moments of its units at hand; -1 without one.
Index factors_to_alternate(LatentGaussianModel& model, const Algorithm& algorithm, const HyperTable& table);

struct Alternation {
  Posterior posterior;
  double objective;  // bound + log prior
  bool converged;
};
/// The best loadings, effects and parameters of the likelihood, all others held. A pass is
///   1. one natural-gradient step for q;
///   2. with q held, for each item one damped Newton step for its effects and loadings, for which the bound is
///      concave where the likelihood is, and one for the parameters of the likelihood;
///   3. a change of coordinates z -> C^-1 (z - G'x) that no row notices, with C and G such that the units' mean
///      posterior covariance and mean are those of the prior (parameter expansion);
/// and Anderson acceleration of it, where a guess that lowers the bound makes way for the plain pass. The bound
/// never falls. At the end the factors are turned to their principal axes, the largest loading of each positive.
Alternation alternate(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
                      const std::optional<Sites>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace);

/// The same within a search for the hyperparameters that it does not learn: L-BFGS over their profile. Random
/// starts beside the table's, where passes are cheap; `note` where they do not agree.
struct FactorSearch {
  std::optional<Sites> sites;
  bool converged;
  std::string note;
};
FactorSearch search_factors(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
                            const std::optional<Sites>& start, const InferenceControl& inference,
                            const HyperControl& control, Trace& trace);

/// Turns the factors of every term to their principal axes, where all of its loadings are learned.
void turn_to_principal_axes(const LatentGaussianModel& model, HyperTable& table);

}  // namespace galvi
