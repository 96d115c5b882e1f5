// Threads over blocks whose results do not depend on how many threads there are.
#pragma once

#include <exception>
#include <functional>

#include "numeric/context.h"

namespace galvi {

/// Calls body(block) for block = 0 .. blocks - 1 on up to context.threads threads; polls between blocks on
/// the calling thread. A body writes only to what belongs to its block and does not touch the context (its
/// cost and monitor belong to the calling thread); sums are taken afterwards in block order. The first
/// exception in block order is rethrown on the calling thread. A loop inside a body runs on that body's
/// thread. `work` is the loop's approximate cost in flops: a small loop does not use threads.
void parallel_for(Context& context, Index blocks, double work, const std::function<void(Index)>& body);

/// While one of these lives, all loops run on the calling thread, because they call functions, such as R's,
/// that are not safe on others.
class SerialLoops {
 public:
  SerialLoops();
  ~SerialLoops();
  SerialLoops(const SerialLoops&) = delete;
  SerialLoops& operator=(const SerialLoops&) = delete;
};

}  // namespace galvi
