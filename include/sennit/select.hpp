// sennit::select: waits for several things and does one of them.
// room: sync
//
//   sennit::select(
//       sennit::on_receive(requests, [&](std::optional<request> r) { ... }),  // empty: closed
//       sennit::on_send(log, line, [&](bool sent) { ... }),                   // false: closed
//       sennit::on_timeout(1s, [&] { ... }));
//
// Cases that wait for file descriptors are in select_io.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/select_case.hpp"
#include "sennit/detail/sync/select_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

namespace detail {

template <class Policy>
inline constexpr select_case::family family_of =
    Policy::is_shared ? select_case::family::shared : select_case::family::local;

struct channel_cases {
  template <class T, class Policy>
  static any_lock lock_of(basic_channel<T, Policy>& channel) noexcept {
    if constexpr (Policy::is_shared)
      return any_lock(channel.waits_.mutual_exclusion());
    else
      return {};
  }
  template <class T, class Policy, class Then>
  class receive final : public select_case {
    using channel = basic_channel<T, Policy>;

  public:
    static constexpr family among = family_of<Policy>;
    receive(channel& from, Then then) : select_case(&from), from_(from), then_(std::move(then)) {}
    receive(receive&& other) noexcept
        : select_case(&other.from_),
          from_(other.from_),
          value_(std::move(other.value_)),
          then_(std::move(other.then_)) {
      static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<Then>);
    }
    any_lock lock() const noexcept override { return lock_of(from_); }
    bool attempt(later_wake& later) override {
      return from_.take(value_, keep_for_later<Policy>(later)) || from_.closed_;
    }
    void enter() noexcept override {
      word = reinterpret_cast<std::uintptr_t>(place_.at(value_));
      list_push_back(from_.receivers_, *this);
    }
    void leave() noexcept override { detail::leave_list(*this); }
    bool complete() override {
      if constexpr (channel::in_register)
        if (place_.filled)
          value_.emplace(from_word<T>(word));
      return !channel::may_throw || value_ || word != channel::again;
    }
    void finish() { then_(std::move(value_)); }

  private:
    channel& from_;
    std::optional<T> value_;
    [[no_unique_address]] typename channel::landing place_;
    Then then_;
  };

  // `Kept`: T, or T& of a value that stays with the caller unless it is sent.
  template <class T, class Policy, class Then, class Kept>
  class send final : public select_case {
    using channel = basic_channel<T, Policy>;

  public:
    static constexpr family among = family_of<Policy>;
    send(channel& to, Kept&& value, Then then)
        : select_case(&to), to_(to), value_(static_cast<Kept&&>(value)), then_(std::move(then)) {}
    send(send&& other) noexcept : send(other.to_, static_cast<Kept&&>(other.value_), std::move(other.then_)) {
      static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<Then>);
      sent_ = other.sent_;
    }
    // Takes the value over: the caller of selecting() leaves its stack.
    send(send<T, Policy, Then, T&>&& other) noexcept
      requires(!std::is_reference_v<Kept>)
        : send(other.to_, std::move(other.value_), std::move(other.then_)) {
      static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<Then>);
    }
    any_lock lock() const noexcept override { return lock_of(to_); }
    bool attempt(later_wake& later) override {
      sent_ = to_.offer(value_, keep_for_later<Policy>(later));
      return sent_ || to_.closed_;
    }
    void enter() noexcept override {
      word = reinterpret_cast<std::uintptr_t>(__builtin_addressof(offer_));
      list_push_back(to_.senders_, *this);
    }
    void leave() noexcept override { detail::leave_list(*this); }
    bool complete() override {
      if constexpr (channel::may_throw)
        if (offer_.failure)
          std::rethrow_exception(std::move(offer_.failure));
      sent_ = word == channel::taken;
      return !channel::may_throw || word != channel::again;
    }
    void finish() { then_(sent_); }

  private:
    template <class, class, class, class>
    friend class send;
    using offer = std::conditional_t<channel::may_throw, typename channel::throwing_offer, T&>;
    channel& to_;
    Kept value_;
    offer offer_{value_};
    bool sent_ = false;
    Then then_;
  };

  // What selecting() keeps of a case.
  template <class Case>
  struct kept {
    using type = Case;
  };
  template <class T, class Policy, class Then, class Kept>
  struct kept<send<T, Policy, Then, Kept>> {
    using type = send<T, Policy, Then, T>;
  };

private:
  template <class Policy>
  static auto keep_for_later(later_wake& later) {
    return [&later](fiber* who) { later = {[](fiber* f) { Policy::make_ready(f); }, who}; };
  }
};

template <class Then>
class timeout_case final : public select_case {
public:
  static constexpr family among = family::any;
  timeout_case(time_point at, Then then) : at_(at), then_(std::move(then)) {}
  timeout_case(timeout_case&& other) noexcept : at_(other.at_), then_(std::move(other.then_)) {
    static_assert(std::is_nothrow_move_constructible_v<Then>);
  }
  time_point deadline() const noexcept override { return at_; }
  void finish() { then_(); }

private:
  time_point at_;
  Then then_;
};

template <class Then>
struct otherwise_case {
  void finish() { then(); }
  Then then;
};
template <class Case>
inline constexpr bool is_otherwise = false;
template <class Then>
inline constexpr bool is_otherwise<otherwise_case<Then>> = true;

template <class Case>
inline constexpr select_case::family family_of_case = [] {
  if constexpr (requires { std::remove_cvref_t<Case>::among; })
    return std::remove_cvref_t<Case>::among;
  else
    return select_case::family::any;
}();

template <class... Cases>
constexpr select_case::family family_of_cases() noexcept {
  using family = select_case::family;
  constexpr bool local = (false || ... || (family_of_case<Cases> == family::local));
  constexpr bool shared = (false || ... || (family_of_case<Cases> == family::shared));
  static_assert(!local || !shared, "a select is over channels of sennit:: or over those of sennit::local::");
  return local ? family::local : shared ? family::shared : family::any;
}

}  // namespace detail

// ---- The cases. Each is made in the call of select, and calls its function when it was chosen, when all
// others have been left: it may do anything.

/// A case that receives a value from a channel, sennit:: or sennit::local::, and calls `then` with a
/// `std::optional<T>`. It is empty if the channel is closed and nothing is left in it.
template <class T, class Policy, class Then>
auto on_receive(detail::basic_channel<T, Policy>& from, Then then) {
  return detail::channel_cases::receive<T, Policy, Then>(from, std::move(then));
}

/// A case that sends a value to a channel, sennit:: or sennit::local::. It calls `then(true)`, or
/// `then(false)` if the channel is closed.
///
/// `value` is moved from only if it was sent: it stays with the caller of select() if another case is
/// chosen or an exception leaves the call. With selecting() the case owns the value, and destroys it if it
/// was not sent.
template <class T, class Policy, class Then>
auto on_send(detail::basic_channel<T, Policy>& to, std::type_identity_t<T>&& value, Then then) {
  return detail::channel_cases::send<T, Policy, Then, T&>(to, value, std::move(then));
}
/// A case that sends a copy of a value. Otherwise like on_send(to, T&&, then).
template <class T, class Policy, class Then>
  requires std::is_copy_constructible_v<T>
auto on_send(detail::basic_channel<T, Policy>& to, const std::type_identity_t<T>& value, Then then) {
  return detail::channel_cases::send<T, Policy, Then, T>(to, T(value), std::move(then));
}

/// A case that is chosen if no other case could be done by a time. It calls `then()`.
template <class Then>
auto on_timeout(std::chrono::steady_clock::time_point at, Then then) {
  return detail::timeout_case<Then>(at, std::move(then));
}
/// A case that is chosen if no other case could be done for a duration. It calls `then()`.
template <class Rep, class Period, class Then>
auto on_timeout(std::chrono::duration<Rep, Period> time, Then then) {
  return on_timeout(detail::deadline_after(time), std::move(then));
}

/// A case that is chosen if no other case can be done without a wait. It calls `then()`. It must be the
/// last case.
template <class Then>
auto otherwise(Then then) {
  return detail::otherwise_case<Then>{std::move(then)};
}

/// Waits until one of the cases can be done, does it, and calls its function. If several can be done it
/// does one of them, and prefers none of them permanently. Time-outs are tried last. The function is called
/// after all other cases have been left, so that it may do anything.
///
/// - Callers: fibers and OS threads, if they may use the channels. A fiber of a local runtime blocks its
///   thread unless all channels are sennit::local ones. Both kinds of channels in one call do not compile.
/// - A channel may be in several cases. A select does not send to itself.
/// - Cost: it locks each channel, in the order of their addresses, and once more if it waits. It allocates
///   nothing.
///
/// \returns the number of the chosen case, from 0
/// \throws sennit::cancelled if a stop_guard ends the wait
/// \throws whatever the case's function or the move of a value throws. Values should not throw when they
///   are moved.
template <class... Cases>
std::size_t select(Cases&&... cases) {
  constexpr std::array<bool, sizeof...(Cases)> otherwise_at{
      detail::is_otherwise<std::remove_cvref_t<Cases>>...};
  constexpr bool waits = !(false || ... || detail::is_otherwise<std::remove_cvref_t<Cases>>);
  constexpr std::size_t count = sizeof...(Cases) - (waits ? 0 : 1);
  static_assert(count > 0, "a select has a case to wait for");
  static_assert(
      waits || ((... + int{detail::is_otherwise<std::remove_cvref_t<Cases>>}) == 1 && otherwise_at[count]),
      "otherwise() is the last case");

  std::array<detail::select_case*, count> all{};
  std::size_t added = 0;
  const auto add = [&]<class Case>(Case& each) {
    if constexpr (!detail::is_otherwise<Case>)
      all[added++] = &each;
  };
  (add(cases), ...);
  const std::size_t chosen = detail::select_one(all, detail::family_of_cases<Cases...>(), !waits);
  detail::finish_chosen(chosen, cases...);
  return chosen;
}

/// select() without a stack, for become(), whose function gets the number of the case. The case's function
/// is called before that. The cases are kept with the state, so that they must not refer to the stack that
/// is released.
///
/// \code
///   struct worker {
///     sennit::channel<job>* jobs;
///     sennit::channel<int>* stops;
///     bool* stopped;
///   };
///   sennit::continuation work(worker me, std::size_t) {
///     if (*me.stopped)
///       return {};
///     return sennit::become(
///         sennit::selecting(sennit::on_receive(*me.jobs, [](std::optional<job> next) { run(next); }),
///                           sennit::on_receive(*me.stops, [me](auto) { *me.stopped = true; })),
///         work, me);
///   }
/// \endcode
///
/// The channels must belong to the fiber's kind of runtime. Values and functions must move without
/// throwing. The cases are kept in allocated memory. If it wakes and no case can be done after all, the
/// fiber waits once more, with its stack.
template <class... Cases>
auto selecting(Cases&&... cases) {
  static_assert(!(false || ... || std::is_lvalue_reference_v<Cases>), "cases are made in the call");
  static_assert(!(false || ... || detail::is_otherwise<Cases>), "to look without waiting, call select()");
  return detail::select_wait<typename detail::channel_cases::kept<Cases>::type...>(
      detail::family_of_cases<Cases...>(), std::move(cases)...);
}

}  // namespace sennit::inline v0_1
