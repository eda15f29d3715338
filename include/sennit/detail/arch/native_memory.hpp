// What lock-free code is written against: template <class Memory = native_memory>. The model checker compiles
// the same source against a memory of its own (tests/model/model.hpp); here every name is the plain thing.
//
//   atomic<T>   all that other threads may touch at the same time; every operation names its order
//   plain<T>    what the protocol orders: the checker reports an access to it that it does not
//   light_fence, heavy_fence
//               a store, one of them, a load: of two threads that do so, if not both have light ones, one
//               sees the other's store. The heavy one may cost a system call, so that the light one need not
//               cost anything.
//   give_way    in each round of a loop that waits for another thread
#pragma once

#include <sched.h>

#include <atomic>

namespace sennit::detail {

struct native_memory {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using plain = T;
  static void light_fence() noexcept { full_fence(); }
  static void heavy_fence() noexcept { full_fence(); }
  static void give_way() noexcept { ::sched_yield(); }

private:
  static void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)  // gcc's ThreadSanitizer knows no fences
    static std::atomic<int> all{0};
    all.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
};

}  // namespace sennit::detail
