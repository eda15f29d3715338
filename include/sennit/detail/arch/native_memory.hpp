// What lock-free code is written against: template <class Memory = native_memory>. The model checker compiles
// the same source against a memory of its own (tests/model/model.hpp); here every name is the plain thing.
//
//   atomic<T>   all that other threads may touch at the same time; every operation names its order
//   plain<T>    what the protocol orders: the checker reports an access to it that it does not
//   light_fence, heavy_fence, free_fence
//               a store, one of them, a load: of two threads that do so, if not both have light ones, one
//               sees the other's store. Nothing else: they neither acquire nor release.
//   give_way    in each round of a loop that waits for another thread
//
// A light fence costs nothing but a look at a flag, a heavy one a system call: membarrier(2), which makes
// every thread of the process pass a full fence. Where that is not to be had (an old kernel, a seccomp
// filter), and until prepare() has asked for it, both are full fences.
//
// prepare() must have been called, by anybody, before threads are made that call heavy_fence; then these know
// which kind it is to be. A thread that has yet to hear of it may make full fences for light ones: they are
// stronger. It is decided once in a process; a child of fork() inherits both the decision and what the kernel
// knows of it, and after exec() it is made anew.
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

namespace sennit::detail {

struct native_memory {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using plain = T;

  // True: light fences are free from now on. Any thread, any number of times. (The first call takes some
  // milliseconds where there are several threads already.)
  static bool prepare() noexcept;

  SENNIT_INLINE static void light_fence() noexcept {
#if !defined(SENNIT_FENCES_UNSEEN)
    if (kind_.load(std::memory_order_relaxed) == fences::by_membarrier) [[likely]] {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return;
    }
#endif
    full_fence();
  }
  // A light one where prepare() was true: then it is but a compiler's.
  SENNIT_INLINE static void free_fence() noexcept {
#if defined(SENNIT_FENCES_UNSEEN)
    full_fence();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
  static void heavy_fence() noexcept;
  static void give_way() noexcept { ::sched_yield(); }

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

}  // namespace sennit::detail
