#include "numeric/parallel.h"

#include <algorithm>
#include <atomic>

#include "numeric/blas_threads.h"

#ifdef _OPENMP
#include <omp.h>
#ifndef _WIN32
#include <sys/types.h>
#include <unistd.h>
#endif
#endif

namespace galvi {
namespace {

std::atomic<int> serial_loops{0};

void serial_for(Context& context, Index blocks, const std::function<void(Index)>& body) {
  for (Index block = 0; block < blocks; ++block) {
    context.monitor.poll();
    body(block);
  }
}

#ifdef _OPENMP

void nested_for(Index blocks, const std::function<void(Index)>& body) {
  for (Index block = 0; block < blocks; ++block) body(block);
}

// GNU's OpenMP hangs in a forked child (parallel::mclapply) whose parent has run a team of threads:
// a child computes on one thread.
#ifdef _WIN32
bool forked() { return false; }
#else
const pid_t loaded_by = getpid();
bool forked() { return getpid() != loaded_by; }
#endif

// Blocks are taken in order, so all blocks before a failing one have been started: the failure that is kept,
// the first in block order, does not depend on the number of threads.
class FirstFailure {
 public:
  explicit FirstFailure(Index blocks) : block_(blocks) {}

  bool any() const { return failed_.load(std::memory_order_relaxed); }

  void keep(Index block, std::exception_ptr error) {
#pragma omp critical(galvi_first_failure)
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
  Index block_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
};

void team_for(Context& context, int threads, Index blocks, const std::function<void(Index)>& body) {
  std::atomic<Index> next{0};
  FirstFailure failure(blocks);
  std::exception_ptr stopped;  // by the monitor: written and read on the calling thread only
#pragma omp parallel num_threads(threads)
  {
    const bool calling_thread = omp_get_thread_num() == 0;
    while (!failure.any()) {
      if (calling_thread) {
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
  }
  if (stopped) std::rethrow_exception(stopped);
  failure.rethrow();
}

#endif  // _OPENMP

}  // namespace

SerialLoops::SerialLoops() { ++serial_loops; }
SerialLoops::~SerialLoops() { --serial_loops; }

void parallel_for(Context& context, Index blocks, [[maybe_unused]] double work,
                  const std::function<void(Index)>& body) {
#ifdef _OPENMP
  constexpr double worth_a_thread = 2e6;  // about a millisecond
  if (omp_in_parallel()) {
    nested_for(blocks, body);  // perhaps not on the calling thread, so it must not poll
    return;
  }
  const OneBlasThread one_each;
  const int threads = static_cast<int>(std::min<Index>(context.threads, blocks));
  if (threads > 1 && work > worth_a_thread && serial_loops == 0 && !forked()) {
    team_for(context, threads, blocks, body);
    return;
  }
#endif
  serial_for(context, blocks, body);
}

}  // namespace galvi
