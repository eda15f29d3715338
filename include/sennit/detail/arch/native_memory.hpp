// What lock-free code is written against: template <class Memory = native_memory>. The model checker compiles
// the same source against a memory of its own (tests/model/model.hpp); here every name is the plain thing.
//
//   atomic<T>   all that other threads may touch at the same time; every operation names its order
//   plain<T>    what the protocol orders: the checker reports an access to it that it does not
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
  static void give_way() noexcept { ::sched_yield(); }
};

}  // namespace sennit::detail
