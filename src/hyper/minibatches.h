// Learning by an algorithm that moves hyperparameters with every minibatch.
#pragma once

#include "hyper/table.h"
#include "inference/algorithm.h"

namespace galvi {

/// Moves the table as Algorithm::learn does, by adam. The last inference starts where it returns.
Start learn_by_minibatches(BlockModel model, const Algorithm& algorithm, HyperTable& table,
                           const InferenceControl& control, Trace& trace);

}  // namespace galvi
