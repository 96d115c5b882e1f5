#pragma once

#include "inference/algorithm.h"

namespace galvi {

/// Blocks of rows in turn replace their own sites in the sums, at the posterior of all that has been seen
/// (incremental variational inference: Neal and Hinton 1998; the sites are one dual pair per row, Adam et al.
/// 2021). There is no step size: a step is shortened only where it would move a mean of the block further
/// than 1 + 2 sd. Two numbers are kept for each row and latent. After two sweeps, or as soon as no step needs
/// shortening, full passes follow (global_climb()) and certify the result.
SumsResult incremental(BlockModel model, const std::optional<Start>& start, const InferenceControl& control,
                       Trace& trace);

}  // namespace galvi
