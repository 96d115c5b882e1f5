// Threads that wait for work without using the processor: a loop of a millisecond between two of ten microseconds costs
// what it computes. (OpenMP's threads are busy while they wait, which doubled the CPU time of small fits.)
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace galvi {

class ThreadPool {
 public:
  ThreadPool() = default;
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls work(false) on up to `helpers` threads and work(true) on the calling one, and returns when all calls that
  /// began have ended. A thread that is late does not begin, so nobody waits for it: work() must be complete when one
  /// call of it is. It must not throw. If the system gives no more threads, there are fewer helpers.
  void run(int helpers, const std::function<void(bool calling)>& work);

 private:
  void add_threads(int wanted);
  void help();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(bool)>* work_ = nullptr;
  int places_ = 0;  // for helpers that may begin
  int busy_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace galvi
