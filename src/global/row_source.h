// Where the rows are: in memory, read block by block, or with workers elsewhere. Algorithms that need only
// sums ask for them and do not know where they come from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "global/contribution.h"

namespace galvi {

/// The question that a pass answers for all rows.
struct Question {
  enum Kind { contribution, sites, start } kind = contribution;
  const GlobalPosterior* q = nullptr;
  const Sites* at = nullptr;  // of rows in memory from row `at_first` on
  Index at_first = 0;
  const GivenSites* given = nullptr;  // for rows whose sites are not in memory
  Wanted wanted;
};

struct GlobalPoint;

/// Thrown when rows could not be read: a connection that dropped, a file that changed.
struct SourceFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual Index rows() const = 0;  // N
  /// The sum over all rows, its parts added along the tree of a partition.
  virtual Contribution sum(LatentGaussianModel& model, const Question& question) = 0;
  /// Calls body for all rows in order, in blocks of about `size` rows, each within a part of the partition.
  using Body = std::function<void(const RowBlock& rows, Index begin, Index count)>;
  virtual void for_blocks(const LatentGaussianModel& model, Index size, const Body& body) = 0;
  /// The same in random order, for minibatches: of all rows in memory, or of those read at a time. `at`: the
  /// rows' numbers.
  using BatchBody = std::function<void(const RowBlock& batch, const std::vector<Index>& at)>;
  virtual void for_batches(const LatentGaussianModel& model, Index size, const BatchBody& body) = 0;
  /// Whether for_blocks() and for_batches() may be called, that is, whether this process sees the rows.
  virtual bool has_blocks() const { return true; }

  /// The highest bound so far and its posterior, which remain if the rows can no longer be read.
  struct Reached {
    std::shared_ptr<const GlobalPoint> point;
    Vector hyper;
  };
  std::optional<Reached> reached;
};

/// The part after the last one of a block that begins with part `first` and ends before row `end`. Throws
/// std::invalid_argument where the block ends within a part: sums are taken of whole parts.
Index part_at_end(const Partition& partition, Index first, Index end);
// For a block that consists of parts first, first + 1, .. of a partition: adds their contributions to `sum`;
// visits blocks of about `size` rows within them.
void add_parts(const LatentGaussianModel& model, const Question& question, const Partition& partition,
               const RowBlock& rows, Index first, TreeSum<Contribution>& sum);
/// The same for rows whose sites are not in memory: where the question is about sites, they are recomputed
/// first, at the hyperparameters that they belong to.
void add_read_parts(LatentGaussianModel& model, const Question& question, const Partition& partition,
                    const RowBlock& rows, Index first, TreeSum<Contribution>& sum);
void for_blocks_of(const Partition& partition, const RowBlock& rows, Index first, Index size,
                   const RowSource::Body& body);
/// A block's rows in random order, in minibatches of about `size`.
void for_batches_of(const LatentGaussianModel& model, const RowBlock& rows, Index size,
                    const RowSource::BatchBody& body);

class MemoryRows final : public RowSource {
 public:
  explicit MemoryRows(const RowBlock& rows) : rows_(rows) {}
  Index rows() const override { return rows_.size(); }
  Contribution sum(LatentGaussianModel& model, const Question& question) override;
  void for_blocks(const LatentGaussianModel& model, Index size, const Body& body) override;
  void for_batches(const LatentGaussianModel& model, Index size, const BatchBody& body) override {
    for_batches_of(model, rows_, size, body);
  }

 private:
  const RowBlock& rows_;
};

/// The partition of all rows along which this model's sums are taken.
Partition partition_of(const LatentGaussianModel& model, Index rows);

}  // namespace galvi
