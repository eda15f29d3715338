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

// What code of the user's runs with a lock of ours held, or while lists are half changed, and must not give
// the thread to another fiber.
enum class switch_in : std::uint8_t { move, message_size, completion, state };

// Ends the program with a message, which names the remedy.
[[noreturn, gnu::cold]] void fatal_switch(switch_in what) noexcept;

#if defined(NDEBUG)
template <bool user_code, switch_in what>
class switches_refused {
public:
  [[gnu::always_inline]] switches_refused() noexcept {}
};
#else
// In debug builds the program ends if the calling fiber switches, or the calling thread blocks, while it
// lives.
template <bool user_code, switch_in what>
class switches_refused {
public:
  [[gnu::always_inline]] switches_refused() noexcept {}
};
template <switch_in what>
class switches_refused<true, what> {
public:
  switches_refused() noexcept : before_(std::exchange(sennit_thread_self()->report_held_locks, refuse)) {}
  ~switches_refused() { sennit_thread_self()->report_held_locks = before_; }
  switches_refused(const switches_refused&) = delete;
  switches_refused& operator=(const switches_refused&) = delete;

private:
  [[gnu::cold]] static void refuse(const char*, const char*) { fatal_switch(what); }

  void (*const before_)(const char*, const char*);
};
#endif

// Both.
template <bool user_code, switch_in what = switch_in::move>
class no_switch_here {
  [[no_unique_address]] faults_are_fatal<user_code> faults_;
  [[no_unique_address]] switches_refused<user_code, what> switches_;

public:
  [[gnu::always_inline]] no_switch_here() noexcept {}
};

}  // namespace sennit::detail
