// Waits until so many fibers have arrived; of a library's mutex and condition variable, which only the last
// one touches.
#pragma once

#include <atomic>
#include <cstddef>

namespace bench {

template <class Library>
class latch {
public:
  explicit latch(std::size_t count = 0) : missing_(count) {}

  /// Precondition: there is no waiter, and none will arrive before it returns.
  void reset(std::size_t count) { missing_.store(count, std::memory_order_relaxed); }

  void arrive() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    mutex_.lock();
    complete_ = true;
    all_.notify_one();
    mutex_.unlock();
  }

  /// Once after each reset.
  void wait() {
    mutex_.lock();
    while (!complete_)
      all_.wait(mutex_);
    complete_ = false;
    mutex_.unlock();
  }

private:
  std::atomic<std::size_t> missing_;
  typename Library::mutex mutex_;
  typename Library::condition_variable all_;
  bool complete_ = false;
};

}  // namespace bench
