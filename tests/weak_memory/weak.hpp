// What the programs for GenMC (scripts/weak_memory) share: the memory that Sennit's templates are given,
// threads, and gates.
//
// GenMC explores each execution that a memory model allows of a program: RC11 (C++'s model, without load
// buffering), and IMM (Podkopaev, Lahav, Vafeiadis 2019), which allows all that x86, Power, ARMv7, ARMv8 and
// RISC-V may do with compiled code. It finds assertions that fail, spins that never end, and, under RC11,
// data races.
//
// The fences of native_memory.hpp:
//
//   WEAK_MEMBARRIER   as with membarrier(2). A light fence is ordered with each heavy fence, before or after
//                     it, and with nothing else. Each thread has a word: a light fence is a read-modify-write
//                     of the caller's, a heavy one of each thread's. No two light fences are ordered by that.
//   otherwise         as without membarrier: both are seq_cst fences
//
// In the first kind, what was before the earlier of the two fences happens before what is after the later. So
// does the kernel guarantee: it makes each processor that runs a thread pass a full barrier.
#pragma once

#include <assert.h>
#include <genmc.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace weak {

inline constexpr unsigned most_threads = 4;  // with the first one
#if defined(WEAK_MEMBARRIER)
inline thread_local unsigned me = 0;
inline std::atomic<int> passed[most_threads];
#endif

// What a thread has loaded last: its spins wait until that changes. (GenMC knows no thread_local structs.)
inline thread_local const void* last_from = nullptr;
inline thread_local std::uintptr_t last_value = 0;
inline thread_local bool (*last_has_changed)(const void* from, std::uintptr_t value) = nullptr;

// GenMC gives a compare-and-swap that fails the order of one that succeeds. So here a load of the failure's
// order comes first, which is how it usually fails. If it fails only after that, its order is stronger than
// it should be: the weaker case is among the first ones. (A weak one never fails for no reason.)
template <class T>
class atomic : public std::atomic<T> {
  using base = std::atomic<T>;

public:
  using base::base;

  T load(std::memory_order order) const noexcept {
    const T seen = base::load(order);
    last_from = this;
    last_value = (std::uintptr_t)seen;
    last_has_changed = has_changed;
    return seen;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    T seen = load(std::memory_order_relaxed);
    if (seen != expected && failure != std::memory_order_relaxed)
      seen = load(failure);
    if (seen != expected) {
      expected = seen;
      return false;
    }
    if (base::compare_exchange_strong(expected, desired, success, std::memory_order_relaxed))
      return true;
    last_value = (std::uintptr_t)expected;
    if (failure != std::memory_order_relaxed)
      std::atomic_thread_fence(failure);
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }

private:
  static bool has_changed(const void* from, std::uintptr_t value) noexcept {
    return (std::uintptr_t)static_cast<const atomic*>(from)->base::load(std::memory_order_relaxed) != value;
  }
};

struct memory {
  template <class T>
  using atomic = weak::atomic<T>;
  template <class T>
  using plain = T;

#if defined(WEAK_MEMBARRIER)
  static void light_fence() noexcept { passed[me].fetch_add(1, std::memory_order_acq_rel); }
  static void heavy_fence() noexcept {
    for (unsigned each = 0; each < most_threads; ++each)
      passed[each].fetch_add(1, std::memory_order_acq_rel);
  }
#else
  static void light_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void heavy_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif
  static void free_fence() noexcept { light_fence(); }
  // GenMC is told that it is a spin: it reports one that never ends.
  static void yield_thread() noexcept {
    __VERIFIER_loop_begin();
    for (;;) {
      __VERIFIER_spin_start();
      if (last_has_changed(last_from, last_value))
        return;
      __VERIFIER_spin_end(false);
    }
  }
};

template <class Body>
struct thread {
  Body& body;
  unsigned number;
  pthread_t id;

  static void* run(void* of) {
    auto* const it = static_cast<thread*>(of);
#if defined(WEAK_MEMBARRIER)
    me = it->number;
#endif
    it->body();
    return nullptr;
  }
};

// Runs the bodies, each in a thread of its own, and joins them.
template <unsigned Number = 1, class First, class... Rest>
void run(First&& first, Rest&&... rest) {
  thread<First> it{first, Number, {}};
  pthread_create(&it.id, nullptr, thread<First>::run, &it);
  if constexpr (sizeof...(rest) != 0)
    run<Number + 1>(rest...);
  pthread_join(it.id, nullptr);
}

// What one thread sleeps on until it is signalled; a signal before that is not lost. Like an eventfd, it
// synchronizes.
class gate {
public:
  void wait() noexcept {
    __VERIFIER_loop_begin();
    for (;;) {
      __VERIFIER_spin_start();
      if (signalled_.load(std::memory_order_acquire))
        break;
      __VERIFIER_spin_end(false);
    }
    signalled_.exchange(false, std::memory_order_acq_rel);
  }
  void signal() noexcept { signalled_.exchange(true, std::memory_order_acq_rel); }

private:
  std::atomic<bool> signalled_{false};
};

class lock {
public:
  void take() noexcept {
    for (bool free = false;
         !taken_.compare_exchange_strong(free, true, std::memory_order_acquire, std::memory_order_relaxed);
         free = false)
      memory::yield_thread();
  }
  void give() noexcept { taken_.store(false, std::memory_order_release); }

private:
  atomic<bool> taken_{false};
};

// std::exchange, for headers in which GenMC would confuse the temporary values of that.
template <class T>
T exchanged(T& of, T to) noexcept {
  const T was = of;
  of = to;
  return was;
}

}  // namespace weak
