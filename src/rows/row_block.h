// Some rows of data as plain values, for a pass, a minibatch or a worker.
#pragma once

#include <memory>
#include <vector>

#include "likelihood/likelihood.h"
#include "prior/rows.h"

namespace galvi {

/// n rows: responses, offsets, and what the terms of each predictor see of them (a design, which predictors
/// may share).
struct RowBlock {
  Data data;                                               // n
  Matrix offset;                                           // n x K
  std::vector<std::shared_ptr<const DesignRows>> designs;  // each of n rows
  Index first = 0;                                         // their numbers among all rows

  Index size() const { return offset.rows(); }
  /// Some of the rows, by their places in the block.
  RowBlock at(const std::vector<Index>& places) const;
};

}  // namespace galvi
