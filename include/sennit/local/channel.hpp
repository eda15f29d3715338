// sennit::local::channel: values handed from fiber to fiber of one local runtime.
// room: sync
//
//   sennit::local::channel<int> squares;  // rendezvous: a send waits for its receive
//   auto producer = sennit::local::spawn([&] {
//     for (int i = 0; i < 3; ++i)
//       squares.send(i * i);
//     squares.close();
//   });
//   for (int square : squares)
//     std::cout << square << '\n';
//
// Source: Dolan 2013, section 5.1 (an Occam-style blocking channel; a message stays in registers).
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/word.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::local {

// First in, first out; any number of senders and receivers, each served in the order in which it came. T is
// movable. With capacity 0 a value goes from the sender straight to the receiver: in the register that the
// switch hands over if it is trivial and at most 8 bytes, else moved once. With a capacity, sends wait only
// when that many values lie in the channel. It belongs to no runtime, but all its users must be fibers of one
// runtime at a time.
template <class T>
class channel {
  static_assert(std::is_object_v<T> && std::is_move_constructible_v<T>);
  static constexpr bool in_register = detail::fits_word<T>;

public:
  using value_type = T;

  // Throws std::bad_alloc.
  explicit channel(std::size_t capacity = 0)
      : capacity_(capacity), buffer_(capacity == 0 ? nullptr : std::allocator<T>().allocate(capacity)) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    assert(receivers_.empty() && senders_.empty() && "sennit: fibers wait for a dead channel");
    for (; size_ != 0; pop()) {
    }
    if (capacity_ != 0)
      std::allocator<T>().deallocate(buffer_, capacity_);
  }

  // Hands a value over. False, and the value is lost: the channel is closed.
  [[gnu::always_inline]] bool send(T value) { return send_until(std::move(value), detail::never); }

  // False: closed, or the deadline (steady clock) passed before anybody took the value.
  [[gnu::always_inline]] bool send_until(T value, std::chrono::steady_clock::time_point deadline) {
    if (try_send(value))
      return true;
    if (closed_)
      return false;
    detail::worker& w = detail::running_worker();
    w.ready.current->word = reinterpret_cast<std::uintptr_t>(std::addressof(value));
    detail::list_push_back(senders_, *w.ready.current);
    return wait(w, "channel send", deadline) == taken;
  }

  // Takes the next value, waiting for it. Empty: the channel is closed and nothing is left in it.
  [[gnu::always_inline]] std::optional<T> receive() { return receive_until(detail::never); }

  // Empty also: the deadline (steady clock) passed first.
  [[gnu::always_inline]] std::optional<T> receive_until(std::chrono::steady_clock::time_point deadline) {
    std::optional<T> value;
    if (!take(value) && !closed_)
      wait_for_value(value, deadline);
    return value;
  }

  // Takes a value if there is one now.
  std::optional<T> try_receive() {
    std::optional<T> value;
    take(value);
    return value;
  }

  // Moves from `value` and returns true if a receiver waits or there is room; else leaves it alone.
  [[gnu::always_inline]] bool try_send(T& value) {
    if (closed_)
      return false;
    if (!receivers_.empty()) {
      give(detail::list_pop_fiber(receivers_), value);
      return true;
    }
    if (size_ == capacity_)
      return false;
    push(value);
    return true;
  }

  // No more sends: those that wait return false, receivers get what is left and then nothing. May be
  // repeated.
  void close() {
    closed_ = true;
    for (detail::waiter_list* waiting : {&senders_, &receivers_})
      while (!waiting->empty())
        detail::unpark_in_turn(detail::list_pop_fiber(*waiting), detail::fiber_status::notified);
  }
  bool closed() const noexcept { return closed_; }

  std::size_t size() const noexcept { return size_; }  // values that lie in the channel
  std::size_t capacity() const noexcept { return capacity_; }

  // The values from now on, as a range, until the channel is closed and empty.
  class iterator {
  public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    T& operator*() const { return *value_; }
    iterator& operator++() {
      value_ = from_->receive();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& left, std::default_sentinel_t) { return !left.value_; }

  private:
    friend channel;
    explicit iterator(channel& from) : from_(&from), value_(from.receive()) {}
    channel* from_;
    mutable std::optional<T> value_;
  };
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

private:
  static constexpr std::uintptr_t taken = 1;  // the word with which a sender is woken

  // A receiver that finds nothing. Its descriptor's word tells the sender where the value is wanted: in the
  // register, and then the place only gets a mark that there is one, or in place.
  [[gnu::always_inline]] void wait_for_value(std::optional<T>& value, detail::time_point deadline) {
    detail::worker& w = detail::running_worker();
    landing place{value};
    w.ready.current->word = reinterpret_cast<std::uintptr_t>(&place);
    detail::list_push_back(receivers_, *w.ready.current);
    [[maybe_unused]] const std::uintptr_t word = wait(w, "channel receive", deadline);
    if constexpr (in_register)
      if (place.filled)
        value.emplace(detail::from_word<T>(word));
  }

  struct landing_flag {
    explicit landing_flag(std::optional<T>&) {}
    bool filled = false;
  };
  struct landing_value {
    std::optional<T>& value;
  };
  using landing = std::conditional_t<in_register, landing_flag, landing_value>;

  [[gnu::always_inline]] std::uintptr_t wait(detail::worker& w, const char* reason,
                                             detail::time_point deadline) {
    if (deadline == detail::never)
      return detail::park(w, detail::fiber_status::waiting, reason);
    if (detail::park_until(w, detail::fiber_status::waiting, reason, deadline))
      return detail::this_worker()->ready.current->word;
    return 0;
  }

  [[gnu::always_inline]] void give(detail::fiber& receiver, T& value) {
    auto& place = *reinterpret_cast<landing*>(receiver.word);
    std::uintptr_t word = 0;
    if constexpr (in_register) {
      place.filled = true;
      word = detail::to_word<T>(value);
    } else {
      place.value.emplace(std::move(value));
    }
    detail::unpark(receiver, word);
  }

  // The next value, from the buffer or of a waiting sender. False: there is none.
  [[gnu::always_inline]] bool take(std::optional<T>& value) {
    const bool buffered = size_ != 0;
    if (buffered) {
      value.emplace(std::move(buffer_[first_]));
      pop();
    }
    if (senders_.empty())
      return buffered;
    detail::fiber& sender = detail::list_pop_fiber(senders_);
    T& offered = *reinterpret_cast<T*>(sender.word);
    if (buffered)
      push(offered);
    else
      value.emplace(std::move(offered));
    detail::unpark(sender, taken);
    return true;
  }

  [[gnu::always_inline]] void push(T& value) {
    const std::size_t place = first_ + size_;
    ::new (static_cast<void*>(buffer_ + (place < capacity_ ? place : place - capacity_))) T(std::move(value));
    ++size_;
  }
  [[gnu::always_inline]] void pop() {
    buffer_[first_].~T();
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    --size_;
  }

  std::size_t capacity_;
  T* buffer_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  detail::waiter_list receivers_;
  detail::waiter_list senders_;
  bool closed_ = false;
};

}  // namespace sennit::local
