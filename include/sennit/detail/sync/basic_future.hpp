// Futures, promises, and coroutines that return futures, over either policy (basic_wait_queue.hpp).
#pragma once

#include "sennit/detail/arch/exceptions.hpp"  // before <coroutine>: its own error message is less clear
#include "sennit/detail/timer/chrono.hpp"

#include <bit>
#include <cassert>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sync/future_state.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

template <class T, class Policy>
class basic_promise;
template <class T, class Policy>
class future_coroutine_base;
template <class T, class Policy>
class future_coroutine;

/// The members of sennit::future and sennit::local::future.
template <class T, class Policy>
class [[nodiscard]] basic_future {
public:
  /// Lets a C++20 coroutine return a future.
  using promise_type = future_coroutine<T, Policy>;

  /// An empty future, without a result to wait for.
  basic_future() noexcept = default;
  /// Takes the result over; the other future is empty afterwards.
  basic_future(basic_future&&) noexcept = default;
  /// Takes the result over; the other future is empty afterwards.
  basic_future& operator=(basic_future&&) noexcept = default;

  /// \returns whether there is a result to come, or one that has not been taken. Never throws.
  bool valid() const noexcept { return state_ != nullptr; }
  /// \returns whether the result, or an error, is available, so that get() would not wait. Throws
  ///   `std::future_error` (no_state) if the future is empty.
  bool ready() const { return state_of(state_).is_ready(); }

  /// Waits until the result, or an error, is available. Throws `std::future_error` (no_state) if the future
  /// is empty.
  SENNIT_INLINE void wait() const { state_of(state_).wait(); }
  /// Like wait(), but gives up at a deadline. (`std::future` returns a `std::future_status`.)
  ///
  /// \returns false if the deadline passed first
  bool wait_until(std::chrono::steady_clock::time_point deadline) const {
    return state_of(state_).wait_until(deadline);
  }
  /// Like wait(), but gives up at a time of any clock.
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& time) const {
    return wait_by_clock(
        time, [this](std::chrono::steady_clock::time_point deadline) { return wait_until(deadline); });
  }
  /// Like wait(), but gives up after a duration.
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(deadline_after(time));
  }

  /// Waits for the result and returns it, moved, or throws the exception of the promise. The future is
  /// empty afterwards.
  ///
  /// \throws std::future_error if the future is empty (no_state), or if the promise was destroyed before it
  ///   was fulfilled (broken_promise)
  T get() {
    wait();
    const auto state = std::move(state_);
    if (auto* error = std::get_if<future_state<T, Policy>::error>(&state->result))
      std::rethrow_exception(std::move(*error));
    auto* value = std::get_if<future_state<T, Policy>::value>(&state->result);
    if (value == nullptr)
      throw_broken_promise();
    if constexpr (std::is_reference_v<T>)
      return **value;
    else if constexpr (!std::is_void_v<T>)
      return std::move(*value);
  }

  /// wait() without a stack, for become(), whose function gets the future again, ready.
  auto waiting() && { return made_ready(std::move(*this)); }
  /// wait_until() without a stack, for become(), whose function gets the future again. It is ready(), or
  /// else the deadline has passed.
  auto waiting_until(std::chrono::steady_clock::time_point deadline) && {
    return timed_wait(made_ready(std::move(*this)), deadline);
  }

  /// Takes the result in a coroutine, as get() does. Suspends the coroutine if the result is not available.
  auto operator co_await() {
    struct awaiter {
      basic_future awaited;
      bool await_ready() const { return awaited.ready(); }
      bool await_suspend(std::coroutine_handle<> who) noexcept { return awaited.state_->await(who); }
      T await_resume() { return awaited.get(); }
    };
    state_of(state_);
    return awaiter{std::move(*this)};
  }

private:
  friend basic_promise<T, Policy>;
  friend struct ask_access;
  class made_ready : public continuation_wait {
  public:
    static constexpr const char* reason = "future";
    SENNIT_OBJECT_AT(made_ready, awaited_)  // which is its state's address
    explicit made_ready(basic_future&& awaited) : awaited_(std::move(awaited)) { state_of(awaited_.state_); }
    bool file(fiber& f) noexcept { return file(f, f); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    basic_future end(fiber&, std::uintptr_t, fiber_status) noexcept { return std::move(awaited_); }

    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept { return awaited_.state_->file(f, me); }
    bool leave(waiter& me) noexcept { return awaited_.state_->leave(me); }

  private:
    basic_future awaited_;
  };

  explicit basic_future(future_state<T, Policy>& state) noexcept : state_(&state) { state.add_owner(); }

  future_state_owner<T, Policy> state_;
};

/// The members of sennit::promise and sennit::local::promise.
template <class T, class Policy>
class basic_promise {
public:
  /// A promise that is not fulfilled. This makes the only allocation.
  ///
  /// \throws std::bad_alloc if there is no memory
  basic_promise() : state_(new future_state<T, Policy>) {}
  /// Takes the promise over from `other`, which can no longer be used.
  basic_promise(basic_promise&&) noexcept = default;
  /// Takes the promise over from `other`. The promise that this was is broken if it was not fulfilled.
  basic_promise& operator=(basic_promise&& other) noexcept {
    basic_promise(std::move(other)).swap(*this);
    return *this;
  }
  /// Breaks the promise if it was not fulfilled: waiters of the future resume.
  ~basic_promise() {
    if (state_ != nullptr && state_->begin())
      publish();
  }
  /// Exchanges two promises.
  void swap(basic_promise& other) noexcept { state_.swap(other.state_); }

  /// The promise's future. Call it once.
  ///
  /// \throws std::future_error if it was called before (future_already_retrieved), or the promise was moved
  ///   from (no_state)
  basic_future<T, Policy> get_future() {
    state_of(state_).retrieve();
    return basic_future<T, Policy>(*state_);
  }

  /// Fulfils the promise with a value, and wakes waiters. If the value throws when it is copied or moved,
  /// that exception leaves the call, and the promise is unchanged.
  ///
  /// \throws std::future_error if it was fulfilled before (promise_already_satisfied) or moved from
  ///   (no_state)
  template <class Value = T>
    requires std::convertible_to<Value, T>
  void set_value(Value&& value) {
    fulfil<!std::is_trivially_constructible_v<T, Value&&>>(
        [&](state& to) { to.write_value(std::forward<Value>(value)); });
  }
  /// Fulfils a promise of void, and wakes waiters. Throws as set_value(value).
  void set_value()
    requires std::is_void_v<T>
  {
    fulfil<false>([](state& to) { to.template write<state::value>(); });
  }
  /// Fulfils the promise with the exception that get() is to throw, and wakes waiters. Throws as
  /// set_value(value).
  ///
  /// \pre `error` is not null.
  void set_exception(std::exception_ptr error) {
    assert(error != nullptr && "sennit: a promise was given no exception");
    fulfil<false>([&](state& to) { to.template write<state::error>(std::move(error)); });
  }

private:
  friend future_coroutine_base<T, Policy>;
  using state = future_state<T, Policy>;

  template <bool user_code, class Write>
  void fulfil(Write write) {
    state& to = state_of(state_);
    if (!to.begin())
      throw_already_satisfied();
    try {
      const faults_are_fatal<user_code> meanwhile;  // otherwise waiters would never wake
      write(to);
    } catch (...) {
      to.template write<state::nothing>();
      to.give_up();
      throw;
    }
    publish();
  }
  void publish() {
    if (const std::coroutine_handle<> awaiting = state_->publish())
      awaiting.resume();
  }

  future_state_owner<T, Policy> state_;
};

/// The alignment that a coroutine frame of so many bytes may need. gcc 12 and clang 19 place over-aligned
/// parameters and local variables as if the frame was aligned, but allocate it by the plain operator new.
/// Clang passes the alignment only with -fcoro-aligned-allocation. Alignments above that of a page are not
/// supported.
constexpr std::size_t coroutine_alignment(std::size_t bytes) noexcept {
#if defined(__clang__)
  // The two words at the beginning of a frame have no such alignment, so that the variable is behind them.
  const std::size_t largest = std::bit_floor(bytes / 2);
#else
  const std::size_t largest = bytes & -bytes;  // the size is a multiple of the alignment
#endif
  return largest < 4096 ? largest : 4096;
}
/// The word before the frame holds its offset in its memory. (Aligned operator new takes 300 instructions
/// more, in glibc 2.36.)
inline void* coroutine_memory(std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  if (alignment <= usual)
    return ::operator new(bytes);
  char* const memory = static_cast<char*>(::operator new(bytes + alignment));
  const std::size_t before = alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment;
  static_assert(usual >= sizeof before);
  return new (memory + before - sizeof before) std::size_t(before) + 1;
}
/// Frees what coroutine_memory() has returned.
inline void coroutine_memory_back(void* frame, std::size_t alignment) noexcept {
  const bool usual = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  ::operator delete(usual ? frame : static_cast<char*>(frame) - static_cast<std::size_t*>(frame)[-1]);
}

// How a coroutine fulfils its promise.
template <class T, class Policy>
class future_coroutine_base {
public:
  static void* operator new(std::size_t bytes) { return coroutine_memory(bytes, coroutine_alignment(bytes)); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    coroutine_memory_back(memory, coroutine_alignment(bytes));
  }
  // Clang calls these with -fcoro-aligned-allocation.
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return coroutine_memory(bytes, static_cast<std::size_t>(alignment));
  }
  static void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
    coroutine_memory_back(memory, static_cast<std::size_t>(alignment));
  }

  basic_future<T, Policy> get_return_object() { return outcome_.get_future(); }
  std::suspend_never initial_suspend() const noexcept { return {}; }

  // The frame is destroyed first. The awaiting coroutine is resumed by a jump, so a chain of coroutines that
  // end takes no more stack than one.
  auto final_suspend() const noexcept {
    struct at_end {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<future_coroutine<T, Policy>> finished) const noexcept {
        const future_state_owner<T, Policy> state = std::move(finished.promise().outcome_.state_);
        finished.destroy();
        const std::coroutine_handle<> awaiting = state->publish();
        return awaiting ? awaiting : std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };
    return at_end{};
  }

  void unhandled_exception() {
    if (std::exception_ptr error = coroutine_error())
      state().template write<future_state<T, Policy>::error>(std::move(error));
    else
      state().template write<future_state<T, Policy>::nothing>();
  }

protected:
  future_state<T, Policy>& state() noexcept { return *outcome_.state_; }

private:
  basic_promise<T, Policy> outcome_;  // broken, if the frame is destroyed before its end
};

template <class T, class Policy>
class future_coroutine : public future_coroutine_base<T, Policy> {
public:
  template <class Value = T>
    requires std::convertible_to<Value, T>
  void return_value(Value&& value) {
    this->state().write_value(std::forward<Value>(value));
  }
};
template <class Policy>
class future_coroutine<void, Policy> : public future_coroutine_base<void, Policy> {
public:
  void return_void() { this->state().template write<future_state<void, Policy>::value>(); }
};

}  // namespace sennit::inline v0_1::detail
