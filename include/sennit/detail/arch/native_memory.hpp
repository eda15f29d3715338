// The memory of lock-free code: template <class Memory = native_memory>. The model checker compiles the same
// source against its own memory (tests/model/model.hpp); here every name is the plain construct.
//
//   atomic<T>   data that threads access concurrently; every operation names its order
//   plain<T>    data that the protocol orders: the checker reports an access that it does not order
//   light_fence, heavy_fence, free_fence
//               a store, one of them, a load: if two threads do so, and one fence at least is not light, one
//               thread sees the other's store. They neither acquire nor release.
//   yield_thread    in each round of a loop that waits for another thread
//
// A light fence costs only a test of a flag, a heavy one a system call: membarrier(2), which makes every
// thread of the process pass a full fence. Both are full fences where membarrier is not available (an old
// kernel, a seccomp filter), and until prepare() has requested it.
//
// prepare() must be called, by any thread, before threads are made that call heavy_fence, so that these know
// its kind. A thread that does not yet know the decision may make full fences for light ones: they are
// stronger. The decision is made once in a process. A child of fork() inherits the decision and the kernel's
// registration; after exec() it is made again.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

// ThreadSanitizer sees neither fences nor what a membarrier does to other threads.
#if defined(__SANITIZE_THREAD__)
#define SENNIT_FENCES_UNSEEN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SENNIT_FENCES_UNSEEN 1
#endif
#endif

#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/arch/inline.hpp"

namespace sennit::inline v0_1::detail {

struct native_memory {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using plain = T;

  // Returns true if light fences are free from now on. Any thread may call it, any number of times. (The
  // first call takes some milliseconds if there are several threads already.)
  static bool prepare() noexcept;
  // Returns true if free_fence() is a light fence from now on. (ThreadSanitizer gets full ones.)
  static bool prepare_free_fence() noexcept {
#if defined(SENNIT_FENCES_UNSEEN)
    static_cast<void>(prepare());
    return true;
#else
    return prepare();
#endif
  }

  SENNIT_INLINE static void light_fence() noexcept {
#if !defined(SENNIT_FENCES_UNSEEN)
    if (kind_.load(std::memory_order_relaxed) == fences::by_membarrier) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return;
    }
#endif
    full_fence();
  }
  // A light one where prepare_free_fence() was true: then it is but a compiler's.
  SENNIT_INLINE static void free_fence() noexcept {
#if defined(SENNIT_FENCES_UNSEEN)
    full_fence();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
  static void heavy_fence() noexcept;
  static void yield_thread() noexcept { ::sched_yield(); }

private:
  enum class fences : std::uint8_t { undecided, full, by_membarrier };
  static std::atomic<fences> kind_;

  static bool ask_for_membarrier() noexcept;
  static void full_fence() noexcept {
#if defined(SENNIT_FENCES_UNSEEN)
    static std::atomic<int> all{0};
    all.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
};

}  // namespace sennit::inline v0_1::detail
