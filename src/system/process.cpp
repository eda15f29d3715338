// Counts forks.
#include "sennit/detail/system/process.hpp"

#include <pthread.h>

#include <atomic>

namespace sennit::inline v0_1::detail {

unsigned process_generation() noexcept {
  static std::atomic<unsigned> forks{0};
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);  // if this fails for lack of memory, forks go unnoticed
  return forks.load(std::memory_order_relaxed);
}

}  // namespace sennit::inline v0_1::detail
