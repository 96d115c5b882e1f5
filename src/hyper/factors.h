// Learning factors (prior/factors_term.h) by alternating steps. L-BFGS over loadings and scores would take
// ten times as many passes.
#pragma once

#include "hyper/optimise.h"

namespace galvi {

/// Starting values from the response alone: the effects by least squares of each row's own eta, the loadings
/// by a singular value decomposition of the residuals, with zeros for missing entries.
struct FactorStart {
  Matrix loadings;  // d x p
  Matrix effects;   // q x p
};
/// eta: the value that fits each row alone, less the offset.   N
FactorStart factor_start(Context& context, const TermRows& rows, const Vector& eta, const Vector& weight, Index units,
                         Index items, Index dimension, Index effects);

/// The term that alternate() learns: the only predictor's, with all loadings and effects learned and a solver
/// that knows the moments of its units; -1 if there is none.
Index factors_to_alternate(LatentGaussianModel& model, const Algorithm& algorithm, const HyperTable& table);

struct Alternation {
  SitePosterior posterior;
  double objective;  // bound + log prior
  bool converged;
};
/// The best loadings, effects and parameters of the likelihood, with all others fixed. A pass is
///   1. one natural-gradient step for q;
///   2. for fixed q, one damped Newton step for the effects and loadings of each item, in which the bound is
///      concave where the likelihood is, and one for the parameters of the likelihood;
///   3. a change of coordinates z -> C^-1 (z - G'x) that leaves eta unchanged, with C and G such that the
///      units' mean posterior covariance and mean are those of the prior (parameter expansion).
/// Passes are accelerated by Anderson's method; a proposal that lowers the bound is replaced by the plain
/// pass, so the bound never falls. At the end the factors are rotated to their principal axes, the largest
/// loading of each positive.
Alternation alternate(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table, Index term,
                      const std::optional<Start>& start, const InferenceControl& inference,
                      const HyperControl& control, Trace& trace);

/// The same within a search for the hyperparameters that it does not learn: L-BFGS over their profile. Where
/// passes are cheap, random starting points are tried as well; `note` says if they do not agree.
struct FactorSearch {
  std::optional<Start> start;
  bool converged;
  std::string note;
};
FactorSearch search_factors(LatentGaussianModel& model, const Algorithm& algorithm, HyperTable& table,
                            Index term, const std::optional<Start>& start, const InferenceControl& inference,
                            const HyperControl& control, Trace& trace);

/// Rotates the factors of every term whose loadings are all learned to their principal axes.
void turn_to_principal_axes(const LatentGaussianModel& model, HyperTable& table);

}  // namespace galvi
