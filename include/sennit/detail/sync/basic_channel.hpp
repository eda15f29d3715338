// Channels over either policy (basic_wait_queue.hpp).
#pragma once

#include <cassert>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/channel_result.hpp"
#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/word.hpp"
#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/sync/channel_ring.hpp"
#include "sennit/detail/sync/wait_lists.hpp"
#include "sennit/detail/timer/chrono.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::channel and sennit::local::channel.
template <class T, class Policy>
class basic_channel {
  static_assert(std::is_object_v<T> && std::is_move_constructible_v<T>);
  static constexpr bool in_register = fits_word<T>;
  static constexpr bool may_throw = !std::is_nothrow_move_constructible_v<T>;

public:
  /// The type of the values.
  using value_type = T;

  /// An empty channel. `capacity` is in values; with 0, each send waits for its receiver.
  ///
  /// \throws std::bad_alloc if there is no memory for the values
  explicit basic_channel(std::size_t capacity = 0) : ring_(capacity) {}
  basic_channel(const basic_channel&) = delete;
  basic_channel& operator=(const basic_channel&) = delete;
  /// Destroys the values that are left.
  ///
  /// \pre No fiber or thread waits for the channel. It need not be closed.
  ~basic_channel() {
    assert(receivers_.empty() && senders_.empty() && "sennit: fibers wait for a dead channel");
  }

  /// Sends a value: waits until a receiver takes it, or until there is room for it.
  ///
  /// \returns false if the channel is closed. `value` is moved from only if it was sent: a refused
  ///   `std::unique_ptr` still owns its object.
  SENNIT_INLINE bool send(T&& value) { return send_by(value, never) == channel_status::success; }
  /// Sends a copy of a value. Otherwise like send(T&&).
  SENNIT_INLINE bool send(const T& value)
    requires std::is_copy_constructible_v<T>
  {
    T copy(value);
    return send(std::move(copy));
  }

  /// Like send(), but gives up at a deadline. The result tells a closed channel from a deadline that has
  /// passed.
  SENNIT_INLINE channel_result<void> send_until(T&& value, std::chrono::steady_clock::time_point deadline) {
    return channel_result<void>(send_by(value, deadline));
  }
  /// Sends a copy of a value. Otherwise like send_until(T&&, deadline).
  SENNIT_INLINE channel_result<void> send_until(const T& value,
                                                std::chrono::steady_clock::time_point deadline)
    requires std::is_copy_constructible_v<T>
  {
    T copy(value);
    return send_until(std::move(copy), deadline);
  }

  /// Waits for the next value and takes it.
  ///
  /// \returns an empty optional if the channel is closed and nothing is left in it
  SENNIT_INLINE std::optional<T> receive() {
    if constexpr (in_register)
      return receive_word();
    else
      return receive_value();
  }

  /// Like receive(), but gives up at a deadline. The result tells a closed channel from a deadline that has
  /// passed.
  SENNIT_INLINE channel_result<T> receive_until(std::chrono::steady_clock::time_point deadline) {
    channel_result<T> result;
    result.status_ = receive_by(result, deadline);
    return result;
  }

  /// send() without a stack, for become(), whose function gets its result, a bool. T's move constructor
  /// must be noexcept; the compiler checks that.
  auto sending(T value) { return send_wait(*this, std::move(value)); }
  /// receive() without a stack, for become(), whose function gets its result, a `std::optional<T>`. T's
  /// move constructor must be noexcept; the compiler checks that.
  auto receiving() noexcept { return receive_wait(*this); }
  /// send_until() without a stack, for become(), whose function gets a bool: whether the value was sent.
  auto sending_until(T value, std::chrono::steady_clock::time_point deadline) {
    return timed_wait(sending(std::move(value)), deadline);
  }
  /// receive_until() without a stack, for become(), whose function gets a `std::optional<T>`.
  auto receiving_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(receiving(), deadline);
  }

  /// Takes a value if there is one now. Does not wait for one.
  SENNIT_INLINE std::optional<T> try_receive() {
    if constexpr (in_register)
      return try_receive_word();
    else
      return try_receive_value();
  }

  /// Moves from `value` and returns true if a receiver waits or there is room. Otherwise returns false, and
  /// `value` is unchanged. Does not wait.
  SENNIT_INLINE bool try_send(T& value) {
    lock hold(waits_);
    return offer(value, hand_over{hold});
  }

  /// Ends all sends: those that wait return false. Receivers get the values that are left, and then an
  /// empty optional. May be called again.
  void close() {
    lock hold(waits_);
    closed_ = true;
    fiber_chain all;
    for (waiter_list* waiting : {&senders_, &receivers_})
      for (fiber* who = nullptr; next_of(*waiting, who) != nullptr;)
        if (who != nullptr)
          all(who);
    hold.release();
    lists::wake_all(all);
  }
  /// \returns whether close() was called
  bool closed() const noexcept {
    lock hold(waits_);
    return closed_;
  }

  /// \returns the number of values in the channel at the moment
  std::size_t size() const noexcept {
    lock hold(waits_);
    return ring_.size();
  }
  /// \returns the number of values that the channel can hold
  std::size_t capacity() const noexcept { return ring_.capacity(); }

  /// An input iterator that receives the values of a channel until the channel is closed and empty.
  class iterator {
  public:
    /// The type of the values.
    using value_type = T;
    /// Required of iterators.
    using difference_type = std::ptrdiff_t;
    /// The value that was received last. It may be moved from.
    T& operator*() const { return *value_; }
    /// Receives the next value. Waits for it, and throws as receive() does.
    iterator& operator++() {
      value_ = from_->receive();
      return *this;
    }
    /// Receives the next value.
    void operator++(int) { ++*this; }
    /// \returns whether the channel was closed and empty
    friend bool operator==(const iterator& left, std::default_sentinel_t) { return !left.value_; }

  private:
    friend basic_channel;
    explicit iterator(basic_channel& from) : from_(&from), value_(from.receive()) {}
    basic_channel* from_;
    mutable std::optional<T> value_;
  };
  /// Receives the first value, waiting for it: `for (T& each : channel)`.
  iterator begin() { return iterator(*this); }
  /// The end of the iteration.
  std::default_sentinel_t end() const noexcept { return {}; }

private:
  friend struct channel_cases;
  friend struct mailbox_access;
  using lists = wait_lists<Policy, typename Policy::channel_lock>;
  using lock = lists_lock<lists>;
  using moving = channel_moving<T>;
  // Words with which a peer is woken. (A sender of a closed channel keeps its own word, an address.)
  static constexpr std::uintptr_t taken = 1;  // the sender's value was taken
  static constexpr std::uintptr_t again = 2;  // moving the value threw: wait again

  // Without the lock: returns false if there was a moment since the call at which a receive, or a send, would
  // have waited: the look at the buffer, or at the list if there is no buffer. (No sender waits while a
  // buffer is empty, except one whose value is about to be moved there, and no receiver while it is full.) A
  // channel that is not closed then was not closed before.
  SENNIT_INLINE bool may_receive() const noexcept {
    return can_only_lock || ring_.looks_filled() || looks_waited(senders_) || look_ahead(closed_);
  }
  SENNIT_INLINE bool may_send() const noexcept {
    return can_only_lock || !ring_.looks_full() || looks_waited(receivers_) || look_ahead(closed_);
  }

  // The steps after a peer was taken off a list. The lock is released before the peer is woken, because a
  // woken peer may destroy the channel.
  struct hand_over {
    lock& hold;
    SENNIT_INLINE void operator()(fiber* who) const {
      hold.release();
      lists::wake(who);
    }
  };

  // The first waiter of the list that still waits, taken off the list; null if there is none.
  SENNIT_INLINE static waiter* next_of(waiter_list& list, fiber*& who) {
    while (!list.empty()) {
      waiter& first = list_pop_front(list);
      if (lists::take(first, who)) [[likely]]
        return &first;
    }
    return nullptr;
  }

  // What a waiting sender's word points to.
  struct throwing_offer {
    T& value;
    std::exception_ptr failure{};  // thrown when a receiver moved the value into the buffer
  };
  using offered = std::conditional_t<may_throw, throwing_offer, T>;
  static T& value_of(T& value) noexcept { return value; }
  static T& value_of(throwing_offer& offer) noexcept { return offer.value; }

  SENNIT_INLINE channel_status send_by(T& value, time_point deadline) {
    if constexpr (may_throw) {
      for (;;) {
        throwing_offer offer{value};
        const std::uintptr_t word = send_once(value, offer, deadline);
        if (offer.failure)
          std::rethrow_exception(std::move(offer.failure));
        if (word != again)
          return status_of(word);
      }
    } else {
      return status_of(send_once(value, value, deadline));
    }
  }
  // Returns the word with which the sender was woken, 0 if the deadline passed.
  SENNIT_INLINE std::uintptr_t send_once(T& value, offered& offer, time_point deadline) {
    lock hold(waits_);
    if (closed_)
      return refused;
    if (offer_open(value, hand_over{hold}))
      return taken;
    hold.pass_on();
    return waits_.wait(senders_, __builtin_addressof(offer), {"channel send", this}, deadline);
  }
  static constexpr std::uintptr_t refused = 4;
  SENNIT_INLINE static channel_status status_of(std::uintptr_t word) noexcept {
    return word == taken ? channel_status::success
           : word == 0   ? channel_status::timeout
                         : channel_status::closed;
  }

  // Replaces an optional. Compilers keep it in registers: gcc 12 copies an optional through memory, in a
  // piece that is larger than what was stored there before, for which the processor waits.
  struct received_word {
    void emplace(const T& value) noexcept {
      word = to_word<T>(value);
      is_there = true;
    }
    explicit operator bool() const noexcept { return is_there; }
    std::uintptr_t word = 0;
    bool is_there = false;
  };

  // Functions of their own: gcc 12 would construct an optional of a nested block elsewhere, and move it.
  SENNIT_INLINE std::optional<T> receive_word() {
    received_word value;
    if (receive_by(value, never) == channel_status::success)
      return std::optional<T>(from_word<T>(value.word));
    return std::nullopt;
  }
  SENNIT_INLINE std::optional<T> receive_value() {
    std::optional<T> value;
    receive_by(value, never);
    return value;
  }
  SENNIT_INLINE std::optional<T> try_receive_word() {
    received_word value;
    lock hold(waits_);
    if (take(value, hand_over{hold}))
      return std::optional<T>(from_word<T>(value.word));
    return std::nullopt;
  }
  SENNIT_INLINE std::optional<T> try_receive_value() {
    std::optional<T> value;
    lock hold(waits_);
    take(value, hand_over{hold});
    return value;
  }

  // `Value`: std::optional<T>, or received_word.
  template <class Value>
  SENNIT_INLINE channel_status receive_by(Value& value, time_point deadline) {
    for (;;) {
      lock hold(waits_);
      if (take(value, hand_over{hold}))
        return channel_status::success;
      if (closed_)
        return channel_status::closed;
      hold.pass_on();
      const std::uintptr_t word = wait_for_value(value, deadline);
      if (value)
        return channel_status::success;
      if (!may_throw || word != again)
        return word == 0 ? channel_status::timeout : channel_status::closed;
    }
  }

  // Gives the value to a waiting receiver, or puts it into the buffer. Returns false if neither is possible.
  template <class Then>
  SENNIT_INLINE bool offer(T& value, Then wake) {
    return !closed_ && offer_open(value, wake);
  }
  template <class Then>
  SENNIT_INLINE bool offer_open(T& value, Then wake) {
    fiber* who = nullptr;
    if (waiter* receiver = next_of(receivers_, who)) {
      count_recognition(who);
      hand(receivers_, *receiver, who, wake, [receiver, &value] { land(*receiver, value); });
      return true;
    }
    if (!ring_.has_room())
      return false;
    ring_.push(value);
    return true;
  }

  // Moves the value between the caller and a peer that was taken from `list`, and wakes the peer. If the move
  // throws, the peer keeps waiting in its place, and the caller gets the exception. A peer whose claim is
  // taken cannot keep waiting: it is woken, and waits again.
  template <class Then, class Move>
  SENNIT_INLINE static void hand(waiter_list& list, waiter& peer, fiber* who, Then wake, Move move) {
    if constexpr (may_throw) {
      try {
        move();
      } catch (...) {
        if (static_cast<waiter*>(who) == &peer) {
          list_push_front(list, peer);
        } else {
          peer.word = again;
          wake(who);
        }
        throw;
      }
    } else {
      move();
    }
    wake(who);
  }

  // The wait of a receiver that finds no value. The receiver's word tells the sender where to put the value:
  // in place, or in the register. In the second case the place only gets a mark that a value was sent.
  template <class Value>
  SENNIT_INLINE std::uintptr_t wait_for_value(Value& value, time_point deadline) {
    landing place;
    const std::uintptr_t word = waits_.wait(receivers_, place.at(value), {"channel receive", this}, deadline);
    if constexpr (in_register)
      if (place.filled)
        value.emplace(from_word<T>(word));
    return word;
  }

  struct landing_flag {
    template <class Value>
    void* at(Value&) noexcept {
      return this;
    }
    bool filled = false;
  };
  struct landing_value {
    static void* at(std::optional<T>& value) noexcept { return &value; }
  };
  using landing = std::conditional_t<in_register, landing_flag, landing_value>;

  SENNIT_INLINE static void land(waiter& receiver, T& value) {
    if constexpr (in_register) {
      reinterpret_cast<landing*>(receiver.word)->filled = true;
      receiver.word = to_word<T>(value);
    } else {
      const moving meanwhile;
      reinterpret_cast<std::optional<T>*>(receiver.word)->emplace(std::move(value));
      receiver.word = 0;
    }
  }

  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = "channel receive";
    SENNIT_OBJECT_AT(receive_wait, from_)
    explicit receive_wait(basic_channel& from) noexcept : from_(&from) {}
    receive_wait(receive_wait&& other) noexcept
        : from_(other.from_), value_(std::move(other.value_)), place_(other.place_) {
      static_assert(std::is_nothrow_move_constructible_v<T>);
    }
    bool file(fiber& f) noexcept { return file(f, f); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept {
      lock hold(from_->waits_);
      if (from_->take(value_, hand_over{hold}) || from_->closed_)
        return false;
      from_->ring_.rest();
      me.word = reinterpret_cast<std::uintptr_t>(place_.at(value_));
      from_->waits_.enter(from_->receivers_, f, me);
      return true;
    }
    bool leave(waiter& me) noexcept { return from_->waits_.leave(me); }
    std::optional<T> end(fiber&, [[maybe_unused]] std::uintptr_t word, fiber_status) noexcept {
      if constexpr (in_register)
        if (place_.filled)
          value_.emplace(from_word<T>(word));
      return std::move(value_);
    }
    // Returns a reference to the value: if a wait that was moved returned it by value, gcc would warn that
    // there may be none.
    auto bring(fiber_status) noexcept
      requires(!in_register)
    {
      return brought{std::move(value_)};
    }

  private:
    struct brought {
      std::optional<T> value;
      std::optional<T>&& get() noexcept { return std::move(value); }
    };
    basic_channel* from_;
    std::optional<T> value_;
    [[no_unique_address]] landing place_;
  };

  class send_wait : public continuation_wait {
  public:
    static constexpr const char* reason = "channel send";
    SENNIT_OBJECT_AT(send_wait, to_)
    send_wait(basic_channel& to, T&& value) : to_(&to), value_(std::move(value)) {
      static_assert(!may_throw, "a send without a stack needs a value whose move constructor is noexcept");
    }
    bool file(fiber& f) noexcept { return file(f, f); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    // For timed_wait.
    bool file(fiber& f, waiter& me) noexcept {
      lock hold(to_->waits_);
      sent_ = to_->offer(value_, hand_over{hold});
      if (sent_ || to_->closed_)
        return false;
      me.word = reinterpret_cast<std::uintptr_t>(&value_);
      waits_ = true;
      to_->waits_.enter(to_->senders_, f, me);
      return true;
    }
    bool leave(waiter& me) noexcept { return to_->waits_.leave(me); }
    bool end(fiber&, std::uintptr_t word, fiber_status) noexcept { return waits_ ? word == taken : sent_; }

  private:
    basic_channel* to_;
    T value_;
    bool sent_ = false;
    bool waits_ = false;
  };

  // Takes the next value, from the buffer or from a waiting sender. Returns false if there is none.
  template <class Value, class Then>
  SENNIT_INLINE bool take(Value& value, Then wake) {
    if (ring_.size() != 0) {
      {
        const moving meanwhile;
        value.emplace(std::move(ring_.front()));
        ring_.pop();
      }
      take_sender(wake, [this](offered& from) { push_offered(from); });
      return true;
    }
    return take_sender(wake, [&value](offered& from) {
      const moving meanwhile;
      value.emplace(std::move(value_of(from)));
    });
  }
  // Returns false if no sender waits.
  template <class Then, class Take>
  SENNIT_INLINE bool take_sender(Then wake, Take take_value) {
    fiber* who = nullptr;
    waiter* const sender = next_of(senders_, who);
    if (sender == nullptr)
      return false;
    count_recognition(who);
    hand(senders_, *sender, who, wake, [sender, &take_value] {
      take_value(*reinterpret_cast<offered*>(sender->word));
      sender->word = taken;
    });
    return true;
  }
  // The receiver already has its value, so an exception here goes to the sender.
  SENNIT_INLINE void push_offered(offered& from) {
    if constexpr (may_throw) {
      try {
        ring_.push(from.value);
      } catch (...) {
        from.failure = std::current_exception();
      }
    } else {
      ring_.push(from);
    }
  }

  waiter_list receivers_;
  waiter_list senders_;
  [[no_unique_address]] typename ring_of<T, Policy>::type ring_;
  bool closed_ = false;
  [[no_unique_address]] mutable lists waits_;
};

}  // namespace sennit::inline v0_1::detail
