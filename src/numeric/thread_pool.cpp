#include "numeric/thread_pool.h"

#include <algorithm>
#include <system_error>

#ifndef _WIN32
#include <signal.h>
#endif

namespace galvi {
namespace {

/// While it lives no signal is delivered to this thread, nor, later, to those that it starts: R's handlers belong to
/// R's thread.
class NoSignals {
 public:
#ifdef _WIN32
  NoSignals() {}
#else
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
#endif
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

#ifndef _WIN32
 private:
  sigset_t before_;
#endif
};

}  // namespace

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(int helpers, const std::function<void(bool calling)>& work) {
  if (helpers > static_cast<int>(threads_.size())) add_threads(helpers);
  helpers = std::min(helpers, static_cast<int>(threads_.size()));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    work_ = &work;
    places_ = helpers;
  }
  for (int i = 0; i < helpers; ++i) wake_.notify_one();
  work(true);
  std::unique_lock<std::mutex> lock(mutex_);
  places_ = 0;
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::add_threads(int wanted) {
  const NoSignals no_signals;
  try {
    while (static_cast<int>(threads_.size()) < wanted) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {  // the system gives no more
  }
}

void ThreadPool::help() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || places_ > 0; });
    if (closing_) return;
    --places_;
    ++busy_;
    const auto& work = *work_;
    lock.unlock();
    work(false);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace galvi
