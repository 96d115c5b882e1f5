// The steps of alternate() (hyper/factors.h) for fixed q(z): what a row needs of q is its mean, its variance
// and the moments of its unit.
#pragma once

#include "hyper/table.h"
#include "model/latent_gaussian_model.h"
#include "prior/factors_term.h"

namespace galvi {

/// The moments of eta under q(z), and the expectations.
struct RowMoments {
  Matrix mean, variance;  // N x 1
  Expectations e;
  Vector bend;  // of the bound (minus its second derivative, natural scale) in each number that moved
};

/// One damped Newton step in each item's a = (effects, loadings): with x~ = (x, m) and z~ = (0, 2 cov(z, f)),
///   gradient = sum E_m x~ + E_v z~,
///   Hessian = sum E_mm x~x~' + E_mv (x~z~' + z~x~') + E_vv z~z~' + 2 E_v S~,  S~ = S in the loadings' block.
class ItemSteps {
 public:
  ItemSteps(LatentGaussianModel& model, const HyperTable& table, Index term);
  /// Moves the table's values and the moments; `at` has expectations of order 2, and of order 1 afterwards.
  /// Returns the gain that the quadratic model predicts.
  double take(const UnitMoments& units, HyperTable& table, RowMoments& at) const;

 private:
  /// -H D = g for item j, an ascent direction whatever the curvature; the predicted gain g'D / 2.
  double direction(Index j, const UnitMoments& units, const RowMoments& at, const HyperTable& table,
                   VectorRef step, VectorRef bend) const;

  LatentGaussianModel& model_;
  const FactorsTerm& term_;
  const TermRows& rows_;
  Index q_, d_;
  std::vector<std::vector<Index>> rows_of_;  // by item
  Eigen::MatrixXi learned_;                  // of (effects, loadings) of each item: which learned number
};

/// One damped Newton step for the likelihoods' parameters. The Hessian, one block per likelihood, is taken by
/// finite differences. Returns the predicted gain; `at` has expectations of order 1 afterwards.
double step_of_likelihood(LatentGaussianModel& model, HyperTable& table, RowMoments& at);

/// The change of coordinates; false where it would lower the bound plus the log prior of the loadings. Moves
/// the table, not q. Returns the gain.
double expand_parameters(const LatentGaussianModel& model, Index term, const UnitMoments& units, HyperTable& table);

}  // namespace galvi
