// Threads over blocks whose results do not depend on how many threads there are.
#pragma once

#include <exception>
#include <functional>

#include "numeric/context.h"

namespace galvi {

/// Calls body(block) for block = 0 .. blocks - 1 on up to context.threads threads; polls between blocks on
/// the calling thread. A body writes to what belongs to its block only and leaves the context alone (its cost
/// and monitor are the calling thread's); sums are taken afterwards in block order. The first exception in
/// block order is rethrown on the calling thread. A loop inside a body runs on that body's thread.
/// `work` is the loop's rough cost in flops: a small one is not worth waking a thread for.
void parallel_for(Context& context, Index blocks, double work, const std::function<void(Index)>& body);

/// As long as one of these lives, all loops run on the calling thread: what they call is not safe on others, as
/// functions of R are not.
class SerialLoops {
 public:
  SerialLoops();
  ~SerialLoops();
  SerialLoops(const SerialLoops&) = delete;
  SerialLoops& operator=(const SerialLoops&) = delete;
};

}  // namespace galvi
