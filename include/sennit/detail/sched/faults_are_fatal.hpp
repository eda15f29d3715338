// Where a fault ends the process, though an exception server would answer it: where code of the user's, a
// move or a destructor as a rule, is called with a lock of ours held, or while lists are half changed. Who
// were killed there would leave the lock taken for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/no_yield_guard.hpp"

namespace sennit::detail {

// Whether to move one, and destroy it, runs code of its type's.
template <class T>
inline constexpr bool moves_by_code =
    !(std::is_trivially_move_constructible_v<T> && std::is_trivially_destructible_v<T>);

// The yield that was due meanwhile comes at the next check: not now, with the lock held.
[[gnu::cold]] void yield_at_next_check(worker& w) noexcept;

// While it lives, the calling fiber's faults. It is counted as a no_yield_guard is, but its end does not
// yield. `user_code` false: nothing at all.
template <bool user_code>
class faults_are_fatal {
public:
  [[gnu::always_inline]] faults_are_fatal() noexcept {}  // or variables of it were unused
};

template <>
class faults_are_fatal<true> {
public:
  faults_are_fatal() noexcept : count_(no_yield_count()) {
    if (count_ != nullptr)
      ++*count_;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~faults_are_fatal() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (count_ == nullptr || *count_ == 0 || --*count_ != 0)
      return;
    if (worker* const w = this_worker(); w->yield_deferred) [[unlikely]]
      yield_at_next_check(*w);
  }
  faults_are_fatal(const faults_are_fatal&) = delete;
  faults_are_fatal& operator=(const faults_are_fatal&) = delete;

private:
  std::uint32_t* const count_;  // the fiber's, wherever it runs; null: no fiber runs, and nobody is asked
};

// Also around a move or a destructor that runs with a lock of ours held, or while lists are half changed. In
// debug builds the program ends if that code gives the thread to another fiber.
#if defined(NDEBUG)
template <bool user_code>
using no_switch_here = faults_are_fatal<user_code>;
#else
template <bool user_code>
class no_switch_here {
public:
  [[gnu::always_inline]] no_switch_here() noexcept {}
};

template <>
class no_switch_here<true> : faults_are_fatal<true> {
public:
  no_switch_here() noexcept : before_(std::exchange(sennit_thread_self()->report_held_locks, refuse)) {}
  ~no_switch_here() { sennit_thread_self()->report_held_locks = before_; }
  no_switch_here(const no_switch_here&) = delete;
  no_switch_here& operator=(const no_switch_here&) = delete;

private:
  static void refuse(const char*, const char*) {
    fatal_misuse(
        "blocks or yields while a value is moved into or out of a channel or a port, whose lock it "
        "holds; move constructors and destructors of such values must not block: send a std::unique_ptr to "
        "the "
        "value instead");
  }
  void (*const before_)(const char*, const char*);
};
#endif

}  // namespace sennit::detail
