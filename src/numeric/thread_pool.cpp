#include "numeric/thread_pool.h"

#include <system_error>

namespace galvi {

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(int helpers, const std::function<void(bool calling)>& work) {
  try {
    while (static_cast<int>(threads_.size()) < helpers) threads_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    helpers = static_cast<int>(threads_.size());
  }
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
