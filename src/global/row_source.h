// Where rows are: in memory, read block by block, or with workers elsewhere. An algorithm that needs sums
// only asks for them, and does not know.
#pragma once

#include "global/contribution.h"

namespace galvi {

/// What all rows are asked, as plain values that can be sent.
struct Question {
  enum Kind { contribution, sites, start } kind = contribution;
  const GlobalPosterior* q = nullptr;
  const Sites* at = nullptr;  // sites: of all rows
  Wanted wanted;
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual Index rows() const = 0;  // N
  /// All rows, where they are in memory; else null.
  virtual const RowBlock* in_memory() const { return nullptr; }
  /// The sum over all rows, its parts added along the tree of a partition.
  virtual Contribution sum(const LatentGaussianModel& model, const Question& question) = 0;
};

/// The parts first, first + 1, .. of a partition that a block consists of, added to `sum`.
void add_parts(const LatentGaussianModel& model, const Question& question, const Partition& partition,
               const RowBlock& rows, Index first, TreeSum<Contribution>& sum);

class MemoryRows final : public RowSource {
 public:
  explicit MemoryRows(const RowBlock& rows) : rows_(rows) {}
  Index rows() const override { return rows_.size(); }
  const RowBlock* in_memory() const override { return &rows_; }
  Contribution sum(const LatentGaussianModel& model, const Question& question) override;

 private:
  const RowBlock& rows_;
};

/// The partition of all rows that sums of this model are taken along.
Partition partition_of(const LatentGaussianModel& model, Index rows);

}  // namespace galvi
