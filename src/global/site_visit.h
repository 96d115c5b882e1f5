// Blocks of rows that replace their own sites in the sums.
#pragma once

#include "global/chunk.h"
#include "global/global_model.h"

namespace galvi {

class SiteVisit {
 public:
  /// Rows begin, .., begin + count - 1 of a block, at q. first: these rows have no sites yet; where q is too
  /// vague for them they start from those of model/start.h.
  SiteVisit(const LatentGaussianModel& model, const RowBlock& rows, Index begin, Index count,
            const GlobalPosterior& q, bool first);
  /// The new sites of these rows: lambda = -2 dE/dv, b = dE/dm + lambda f.   count x K
  const Sites& sites() const { return sites_; }
  /// The change of the sums when these rows' `old` sites are replaced by the new ones.
  Contribution change(const Sites& old) const;
  /// The largest change of these rows' means from q to another posterior, in units of 1 + 2 sd.
  double furthest_move(const GlobalPosterior& to) const;

 private:
  const LatentGaussianModel& model_;
  std::vector<Chunk> chunks_;
  Matrix centred_, sd_;  // count x K
  Sites sites_;
};

/// The sites of all rows, their sums, and the posterior that follows from them. Starts without sites.
class KeptSites {
 public:
  explicit KeptSites(BlockModel& model);
  const GlobalPosterior& posterior() const { return q_; }
  /// Rows begin, .., begin + count - 1 of a block, whose numbers are `at`, replace their sites by the new
  /// ones, as far as none of their means moves further than 1 + 2 sd. first: as in SiteVisit. Returns the
  /// fraction of the step that was taken: usually 1, or 0 for none.
  double visit(const RowBlock& rows, Index begin, const std::vector<Index>& at, bool first);
  /// Recomputes the sums in one pass, after hyperparameters have moved and the columns with them. The
  /// posterior stays as it is if these sums do not have one.
  void refresh();

 private:
  BlockModel& model_;
  Sites sites_;
  Contribution sums_;
  GlobalPosterior q_;
};

}  // namespace galvi
