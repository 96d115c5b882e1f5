// Rows that replace their own sites in the sums.
#pragma once

#include "global/chunk.h"
#include "global/global_model.h"

namespace galvi {

class SiteVisit {
 public:
  /// Rows begin, .., begin + count - 1 of a block, at q. first: they have no sites yet, and where q says little
  /// of them begin with those of inference/start.h.
  SiteVisit(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count,
            const GlobalPosterior& q, bool first);
  /// The sites that these rows ask for: lambda = -2 dE/dv, b = dE/dm + lambda f.   count x K
  const Sites& sites() const { return sites_; }
  /// What the sums change by where `old` sites of these rows give way to the new ones.
  Contribution change(const Sites& old) const;
  /// How far the means of these rows move from q to another posterior, at most, in units of 1 + 2 sd.
  double furthest_move(const GlobalPosterior& to) const;

 private:
  const LatentGaussianModel& model_;
  std::vector<Chunk> chunks_;
  Matrix centred_, sd_;  // count x K
  Sites sites_;
};

/// The sites of all rows, their sums, and the posterior that follows from them. Begins with none.
class StandingSites {
 public:
  explicit StandingSites(BlockModel& model);
  const GlobalPosterior& posterior() const { return q_; }
  /// Rows begin, .., begin + count - 1 of a block, whose numbers are `at`, give up their sites for those that
  /// they ask for, as far as no mean of theirs moves further than 1 + 2 sd. first: as in SiteVisit. Returns how
  /// much of the step was taken: 1 as a rule, 0 for none.
  double visit(const RowBlock& rows, Index begin, const std::vector<Index>& at, bool first);
  /// Takes the sums anew, by one pass: after hyperparameters have moved, and with them the columns. The posterior
  /// stays where these sums have none.
  void refresh();

 private:
  BlockModel& model_;
  Sites sites_;
  Contribution sums_;
  GlobalPosterior q_;
};

}  // namespace galvi
