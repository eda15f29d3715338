// A lock for a few instructions: one read-modify-write acquires it, a plain store releases it. A waiter
// yields the processor after a while, since the owner may not be running.
#pragma once

#include <atomic>

#include "sennit/detail/arch/native_memory.hpp"
#include "sennit/detail/arch/thread_safety.hpp"

namespace sennit::inline v0_1::detail {

// Lets the processor's other thread go first, and a loop that waits not burn.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

// A round of a loop that waits for another thread: it is not for long, or that one does not run.
class backoff {
public:
  void operator()() noexcept {
    if (rounds_ < 64) {
      ++rounds_;
      relax();
    } else {
      native_memory::yield_thread();
    }
  }

private:
  unsigned rounds_ = 0;
};

// The pause between two looks at what another thread is about to change.
template <class Memory>
struct lock_pause {
  void operator()() noexcept { Memory::yield_thread(); }
};
template <>
struct lock_pause<native_memory> : backoff {};

class SENNIT_THREAD_SAFETY(capability("spin lock")) spin_lock {
public:
  void lock() noexcept SENNIT_THREAD_SAFETY(acquire_capability()) {
    while (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  bool try_lock() noexcept SENNIT_THREAD_SAFETY(try_acquire_capability(true)) {
    return !taken_.exchange(true, std::memory_order_acquire);
  }
  void unlock() noexcept SENNIT_THREAD_SAFETY(release_capability()) {
    taken_.store(false, std::memory_order_release);
  }

private:
  [[gnu::noinline, gnu::cold]] void wait() const noexcept {
    for (backoff pause; taken_.load(std::memory_order_relaxed);)
      pause();
  }
  std::atomic<bool> taken_{false};
};

}  // namespace sennit::inline v0_1::detail
