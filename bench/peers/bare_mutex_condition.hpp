// A condition variable of the standard's kind, as the workloads use one: with the mutex, not with a lock that
// owns it.
#pragma once

#include <mutex>

#include "../support/opaque.hpp"

namespace bench {

template <class Condition, class Mutex>
class bare_mutex_condition {
public:
  BENCH_INLINE void wait(Mutex& held) {
    std::unique_lock lock(held, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  BENCH_INLINE void notify_one() { condition_.notify_one(); }

private:
  Condition condition_;
};

}  // namespace bench
