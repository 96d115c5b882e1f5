#include "numeric/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "numeric/blas_threads.h"
#include "numeric/thread_pool.h"

namespace galvi {
namespace {

std::atomic<int> serial_loops{0};

// Does this thread compute blocks of a loop that is shared with others?
thread_local bool in_shared_loop = false;

void serial_for(Context& context, Index blocks, const std::function<void(Index)>& body) {
  for (Index block = 0; block < blocks; ++block) {
    context.monitor.poll();
    body(block);
  }
}

void nested_for(Index blocks, const std::function<void(Index)>& body) {
  for (Index block = 0; block < blocks; ++block) body(block);
}

// Blocks are taken in order, so all blocks before a failing one have been started: the failure that is kept,
// the first in block order, does not depend on the number of threads.
class FirstFailure {
 public:
  explicit FirstFailure(Index blocks) : block_(blocks) {}

  bool any() const { return failed_.load(std::memory_order_relaxed); }

  void keep(Index block, std::exception_ptr error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (block < block_) {
      block_ = block;
      error_ = error;
    }
    failed_ = true;
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  Index block_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
};

void shared_for(Context& context, int threads, Index blocks, const std::function<void(Index)>& body) {
  std::atomic<Index> next{0};
  FirstFailure failure(blocks);
  std::exception_ptr stopped;  // by the monitor: written and read on the calling thread only
  if (!context.pool) context.pool = std::make_shared<ThreadPool>();
  context.pool->run(threads - 1, [&](bool calling) {
    in_shared_loop = true;
    while (!failure.any()) {
      if (calling) {
        try {
          context.monitor.poll();
        } catch (...) {
          stopped = std::current_exception();
          failure.keep(blocks, nullptr);
          break;
        }
      }
      const Index block = next.fetch_add(1);
      if (block >= blocks) break;
      try {
        body(block);
      } catch (...) {
        failure.keep(block, std::current_exception());
      }
    }
    in_shared_loop = false;
  });
  if (stopped) std::rethrow_exception(stopped);
  failure.rethrow();
}

}  // namespace

SerialLoops::SerialLoops() { ++serial_loops; }
SerialLoops::~SerialLoops() { --serial_loops; }

void parallel_for(Context& context, Index blocks, double work, const std::function<void(Index)>& body) {
  constexpr double worth_a_thread = 2e6;  // about a millisecond
  if (in_shared_loop) {
    nested_for(blocks, body);  // perhaps not on the calling thread, so it must not poll
    return;
  }
  const OneBlasThread one_each;
  const int threads = static_cast<int>(std::min<Index>(context.threads, blocks));
  if (threads > 1 && work > worth_a_thread && serial_loops == 0) {
    shared_for(context, threads, blocks, body);
  } else {
    serial_for(context, blocks, body);
  }
}

}  // namespace galvi
