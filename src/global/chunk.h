// A few rows at hand: what fits a cache.
#pragma once

#include "global/contribution.h"

namespace galvi {

/// Rows begin, .., begin + count - 1 of a block and what the priors make of them.
struct Chunk {
  Index begin, count;
  Data data;
  Matrix offset;              // with the prior means.   count x K
  std::vector<Matrix> W;      // whitened columns, of each prior
  std::vector<Vector> extra;  // c, of each prior

  Chunk(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count);
  /// Moments of eta under q. X: W_k U_k' of each predictor, whose squared rows are the variances.
  void marginals(const LatentGaussianModel& model, const GlobalPosterior& q, Matrix& mean, Matrix& variance,
                 std::vector<Matrix>& X) const;
  /// The sites that q asks for, by derivatives from expectations of this order, and the moments of eta.
  Sites sites(Context& context, const LatentGaussianModel& model, const GlobalPosterior& q, int order,
              Matrix& mean, Matrix& variance) const;
  /// Adds W' b to slope and W' Lambda W to curvature.   sites: count x K
  void add_sites(const LatentGaussianModel& model, const Sites& sites, Contribution& sums) const;
};

/// Sums of nothing yet, over `rows` rows.
Contribution empty_sums(const LatentGaussianModel& model, Index rows);

}  // namespace galvi
