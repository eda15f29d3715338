// The state that a promise and its future share: one allocation, which the last of the two frees. It works
// over either policy (basic_wait_queue.hpp).
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/sync/basic_wait_queue.hpp"

namespace sennit::inline v0_1::detail {

// The shared state except the result. One writer writes the result between begin() and publish(); readers
// read it after publish().
template <class Policy>
class future_state_base {
public:
  future_state_base() noexcept = default;
  future_state_base(const future_state_base&) = delete;
  future_state_base& operator=(const future_state_base&) = delete;

  bool is_ready() const noexcept { return (queue_.peek(std::memory_order_acquire) & ready) != 0; }
  SENNIT_INLINE void wait() {
    if (!is_ready() && !queue_.wait_inline("future", need_not_wait)) [[unlikely]]
      wait_until(never);
  }
  bool wait_until(time_point deadline);
  // For a fiber without a stack: as a wait queue's.
  bool file(fiber& f, waiter& me) noexcept;
  bool leave(waiter& me) noexcept { return queue_.leave(me); }
  // Registers a coroutine that the publisher resumes. Returns false if the result is already available. The
  // caller must not touch anything afterwards.
  bool await(std::coroutine_handle<> who) noexcept;

  void retrieve();          // throws future_already_retrieved
  bool begin() noexcept;    // returns false if a writer has already begun
  void give_up() noexcept;  // after begin(): there is no result yet
  // Wakes all waiters. Returns the coroutine that the caller must resume as its last action, or null.
  std::coroutine_handle<> publish() noexcept;

  void add_owner() noexcept { owners_.add(); }
  bool drop_owner() noexcept { return owners_.drop(); }  // true: it was the last

private:
  // Bits of the queue's state.
  using queue = basic_wait_queue<Policy>;
  using state = typename queue::state;
  static constexpr state begun = 1;      // the result is being written, or is written
  static constexpr state ready = 2;      // it is there
  static constexpr state retrieved = 4;  // there is, or was, a future

  static bool need_not_wait(state& now) noexcept { return (now & ready) != 0; }

  queue queue_;
  typename Policy::owners owners_;
  std::coroutine_handle<> awaiting_;  // under the queue's lock
};

// How a value is kept.
template <class T>
struct future_value {
  using type = T;
};
template <class T>
struct future_value<T&> {
  using type = T*;
};
template <>
struct future_value<void> {
  using type = std::monostate;
};

template <class T, class Policy>
struct future_state : future_state_base<Policy> {
  enum : std::size_t { nothing, value, error };

  template <std::size_t kind, class... Arguments>
  void write(Arguments&&... arguments) {
    result.template emplace<kind>(std::forward<Arguments>(arguments)...);
  }
  template <class Value>
  void write_value(Value&& from) {
    if constexpr (std::is_reference_v<T>) {
      T referred = std::forward<Value>(from);
      write<value>(std::addressof(referred));
    } else {
      write<value>(std::forward<Value>(from));
    }
  }

  // Published with nothing: the promise was broken.
  std::variant<std::monostate, typename future_value<T>::type, std::exception_ptr> result;
};

struct future_state_drop {
  template <class T, class Policy>
  void operator()(future_state<T, Policy>* state) const noexcept {
    if (state->drop_owner())
      delete state;
  }
};
template <class T, class Policy>
using future_state_owner = std::unique_ptr<future_state<T, Policy>, future_state_drop>;

// Throw std::future_error.
[[noreturn, gnu::cold]] void throw_no_state();
[[noreturn, gnu::cold]] void throw_broken_promise();
[[noreturn, gnu::cold]] void throw_already_satisfied();

template <class T, class Policy>
future_state<T, Policy>& state_of(const std::unique_ptr<future_state<T, Policy>, future_state_drop>& owner) {
  if (owner == nullptr) [[unlikely]]
    throw_no_state();
  return *owner;
}

// Call it in a handler. Returns the exception that a coroutine ends with; null if it ends because its fiber
// is stopped by the end of the runtime. Then the fiber's next wait throws again, for the fiber's own frames
// lie behind the coroutine's resume.
std::exception_ptr coroutine_error();

}  // namespace sennit::inline v0_1::detail
