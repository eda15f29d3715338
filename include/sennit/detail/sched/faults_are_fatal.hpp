// Scopes in which a fault ends the process, although an exception server would handle it. There, user code
// (usually a move or a destructor) runs while the library holds a lock, or has half changed a list. A fiber
// killed there would leave the lock taken forever.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/no_yield_guard.hpp"

namespace sennit::inline v0_1::detail {

// Whether moving and destroying a T runs user code.
template <class T>
inline constexpr bool has_nontrivial_move =
    !(std::is_trivially_move_constructible_v<T> && std::is_trivially_destructible_v<T>);

// The yield that was requested meanwhile happens at the next check, not now, with the lock held.
[[gnu::cold]] void yield_at_next_check(worker& w) noexcept;

// While it exists, faults of the calling fiber are fatal. It counts like a no_yield_guard, but its end does
// not yield. With `user_code` false it does nothing.
template <bool user_code>
class faults_are_fatal {
public:
  [[gnu::always_inline]] faults_are_fatal() noexcept {}  // avoids warnings about unused variables
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
  std::uint32_t* const count_;  // the fiber's, wherever it runs; null: no fiber runs, so no server is asked
};

// The kinds of user code that run while the library holds a lock, or has half changed a list. They must not
// give the thread to another fiber.
enum class switch_in : std::uint8_t { move, message_size, completion, state, function, list };

// Ends the program with a message that names the remedy.
[[noreturn, gnu::cold]] void fatal_switch(switch_in what) noexcept;

#if defined(NDEBUG)
template <bool user_code, switch_in what>
class switches_refused {
public:
  [[gnu::always_inline]] switches_refused() noexcept {}
};
#else
// In debug builds, ends the program if the calling fiber switches, or the calling thread blocks, during its
// lifetime.
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
  // For what does not switch, and may not be done then, either.
  static void check() {
    if (sennit_thread_self()->report_held_locks == refuse)
      fatal_switch(what);
  }

private:
  [[gnu::cold]] static void refuse(const char*, const char*) { fatal_switch(what); }

  void (*const before_)(const char*, const char*);
};
#endif

// During its lifetime, the waiters that the thread has taken before are not released (wait.hpp): what the
// user code wakes releases only its own.
template <bool user_code>
class taken_waiters_stay {
public:
  [[gnu::always_inline]] taken_waiters_stay() noexcept {}
};
template <>
class taken_waiters_stay<true> {
public:
  taken_waiters_stay() noexcept
      : taken_(sennit_thread_self()->taken_waiters), before_(std::exchange(taken_, nullptr)) {}
  ~taken_waiters_stay() { taken_ = before_; }
  taken_waiters_stay(const taken_waiters_stay&) = delete;
  taken_waiters_stay& operator=(const taken_waiters_stay&) = delete;

private:
  void*& taken_;  // the thread's: it is the same one at the end
  void* const before_;
};

// Combines these.
template <bool user_code, switch_in what = switch_in::move>
class no_switch_here {
  [[no_unique_address]] faults_are_fatal<user_code> faults_;
  [[no_unique_address]] switches_refused<user_code, what> switches_;
  [[no_unique_address]] taken_waiters_stay<user_code> taken_;

public:
  [[gnu::always_inline]] no_switch_here() noexcept {}
};

}  // namespace sennit::inline v0_1::detail
