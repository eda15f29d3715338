// sennit::future, sennit::promise: results to come, for fibers, OS threads and C++20 coroutines.
// room: sync
//
//   sennit::promise<int> promise;
//   sennit::future<int> answer = promise.get_future();
//   sennit::spawn([promise = std::move(promise)]() mutable { promise.set_value(42); }).detach();
//   answer.get();  // 42: blocks the fiber, not its worker
//
// A future is also what a C++20 coroutine returns. It can await futures, and whatever else can be awaited:
//
//   sennit::future<int> sum(sennit::future<int> a, sennit::future<int> b) {
//     co_return co_await a + co_await b;
//   }
//   sum(std::move(answer), other()).get();  // a fiber, or an OS thread, waits for a coroutine
#pragma once

#include "sennit/detail/arch/cplusplus.hpp"  // before <coroutine>, whose complaint says less

#include <cassert>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/sync/future_state.hpp"

namespace sennit {

template <class T>
class promise;

namespace detail {
template <class T>
class future_coroutine_base;
template <class T>
class future_coroutine;
}  // namespace detail

// As std::future, which is to say for one consumer. T is a type that can be moved, a reference, or void. Made
// by promise::get_future() or a coroutine's call. It may be given up at any time: the promise, or the
// coroutine, goes on alone.
//
//   threads  A future is used by one fiber or thread at a time, and its promise by another. All waits are for
//            fibers of any worker and OS threads. (A fiber of a local runtime blocks its thread.)
//   errors   std::future_error: no_state, when there is nothing to wait for (any more); broken_promise, from
//            get() and co_await, when the promise was destroyed unfulfilled.
//   end      A fiber whose runtime ends while it waits leaves; the future is as before.
//
//   co_await, on a future that may be an lvalue, takes its result as get() does; the future is empty from
//   then on. The coroutine is resumed by whoever fulfils the promise, inside that call: on that thread, and
//   on that fiber's stack if it is one (64 KiB unless it has asked for more). If the result is there already
//   it does not suspend. It must not be destroyed while it waits.
//
//   A coroutine that returns a future begins at once, on its caller's stack. It is gone, its variables and
//   parameters destroyed, before its future is ready. What it throws comes out of get(). While it runs it is
//   part of the fiber or thread that has called or resumed it: it may block it. If that fiber's runtime ends
//   in such a wait, so does the coroutine, and its promise is broken. Its call throws std::bad_alloc when
//   there is no memory.
template <class T>
class [[nodiscard]] future {
public:
  using promise_type = detail::future_coroutine<T>;

  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  // Whether there is a result to come, or that has come and was not taken.
  bool valid() const noexcept { return state_ != nullptr; }
  // Whether get() would not wait.
  bool ready() const { return detail::state_of<T>(state_).is_ready(); }

  // Waits until the result, or an error, is there. With a deadline (steady clock): false, if that passed
  // first. (std::future returns a std::future_status.)
  void wait() const { wait_until(detail::never); }
  bool wait_until(std::chrono::steady_clock::time_point deadline) const {
    return detail::state_of<T>(state_).wait_until(deadline);
  }
  template <class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(std::chrono::steady_clock::now() + time);
  }

  // Waits, and returns the result, which is moved, or throws what the promise was given. The future is empty
  // then.
  T get() {
    wait();
    const auto state = std::move(state_);
    if (auto* error = std::get_if<detail::future_state<T>::error>(&state->result))
      std::rethrow_exception(std::move(*error));
    auto* value = std::get_if<detail::future_state<T>::value>(&state->result);
    if (value == nullptr)
      detail::throw_broken_promise();
    if constexpr (std::is_reference_v<T>)
      return **value;
    else if constexpr (!std::is_void_v<T>)
      return std::move(*value);
  }

  auto operator co_await() {
    struct awaiter {
      future awaited;
      bool await_ready() const { return awaited.ready(); }
      bool await_suspend(std::coroutine_handle<> who) noexcept { return awaited.state_->await(who); }
      T await_resume() { return awaited.get(); }
    };
    detail::state_of<T>(state_);
    return awaiter{std::move(*this)};
  }

private:
  friend promise<T>;
  explicit future(detail::future_state<T>& state) noexcept : state_(&state) { state.add_owner(); }

  detail::future_state_owner<T> state_;
};

// As std::promise. One that is destroyed before it is fulfilled breaks its promise: who waits gets a
// std::future_error. Fulfilling it resumes the coroutine that awaits it, if one does, before it returns; what
// that throws into its resumer comes out of here (of the destructor: it terminates). The promise may be
// destroyed meanwhile.
//
//   threads  Any; if several fulfil it at the same time, one of them does, and the others have an error.
//   errors   std::bad_alloc from the constructor: it makes the one allocation there is. std::future_error:
//            promise_already_satisfied, future_already_retrieved, no_state (it was moved from). If the value
//            throws when it is moved or copied, that comes out, and the promise is as before.
template <class T>
class promise {
public:
  promise() : state_(new detail::future_state<T>) {}
  promise(promise&&) noexcept = default;
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  ~promise() {
    if (state_ != nullptr && state_->begin())
      publish();
  }
  void swap(promise& other) noexcept { state_.swap(other.state_); }

  // Once.
  future<T> get_future() {
    detail::state_of<T>(state_).retrieve();
    return future<T>(*state_);
  }

  template <class Value = T>
    requires std::convertible_to<Value, T>
  void set_value(Value&& value) {
    fulfil([&](state& to) { to.write_value(std::forward<Value>(value)); });
  }
  void set_value()
    requires std::is_void_v<T>
  {
    fulfil([](state& to) { to.template write<state::value>(); });
  }
  // Precondition: there is one.
  void set_exception(std::exception_ptr error) {
    assert(error != nullptr && "sennit: a promise was given no exception");
    fulfil([&](state& to) { to.template write<state::error>(std::move(error)); });
  }

private:
  friend detail::future_coroutine_base<T>;
  using state = detail::future_state<T>;

  template <class Write>
  void fulfil(Write write) {
    state& to = detail::state_of<T>(state_);
    if (!to.begin())
      detail::throw_already_satisfied();
    try {
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

  detail::future_state_owner<T> state_;
};

namespace detail {

// How a coroutine fulfils its promise.
template <class T>
class future_coroutine_base {
public:
  future<T> get_return_object() { return outcome_.get_future(); }
  std::suspend_never initial_suspend() const noexcept { return {}; }

  // The frame is destroyed first. Who awaits is resumed by a jump: a chain of coroutines that end takes no
  // more stack than one.
  auto final_suspend() const noexcept {
    struct at_end {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<future_coroutine<T>> finished) const noexcept {
        const future_state_owner<T> state = std::move(finished.promise().outcome_.state_);
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
      state().template write<future_state<T>::error>(std::move(error));
    else
      state().template write<future_state<T>::nothing>();
  }

protected:
  future_state<T>& state() noexcept { return *outcome_.state_; }

private:
  promise<T> outcome_;  // broken, if the frame is destroyed before its end
};

template <class T>
class future_coroutine : public future_coroutine_base<T> {
public:
  template <class Value = T>
    requires std::convertible_to<Value, T>
  void return_value(Value&& value) {
    this->state().write_value(std::forward<Value>(value));
  }
};
template <>
class future_coroutine<void> : public future_coroutine_base<void> {
public:
  void return_void() { state().write<future_state<void>::value>(); }
};

}  // namespace detail

}  // namespace sennit
