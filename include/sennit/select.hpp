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
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/sync/channel_cases.hpp"
#include "sennit/detail/sync/select_one.hpp"
#include "sennit/detail/sync/select_wait.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1 {

namespace detail {

template <class Then>
class timeout_case : public select_case {
public:
  static constexpr bool is_timeout = true;
  timeout_case(time_point at, Then then) : at_(at), then_(std::move(then)) {}
  timeout_case(timeout_case&& other) noexcept : at_(other.at_), then_(std::move(other.then_)) {
    must_move_without_throwing<Then>();
  }
  time_point deadline() const noexcept { return at_; }
  void finish() { then_(); }

private:
  time_point at_;
  [[no_unique_address]] Then then_;
};

template <class Then>
class otherwise_case {
public:
  explicit otherwise_case(Then then) : then_(std::move(then)) {}
  void finish() { then_(); }

private:
  [[no_unique_address]] Then then_;
};
template <class Case>
inline constexpr bool is_otherwise = false;
template <class Then>
inline constexpr bool is_otherwise<otherwise_case<Then>> = true;

}  // namespace detail

// ---- The cases. Each is made in the call of select; a case in a variable does not compile. It calls its
// function when it was chosen, when all others have been left: it may do anything.

/// A case that receives a value from a channel, sennit:: or sennit::local::, and calls `then` with a
/// `std::optional<T>`. It is empty if the channel is closed and nothing is left in it.
template <class T, class Policy, class Then>
auto on_receive(detail::basic_channel<T, Policy>& from, Then then) {
  return detail::made<detail::channel_cases::receive<T, Policy, Then>>(from, std::move(then));
}

/// A case that sends a value to a channel, sennit:: or sennit::local::. It calls `then(true)`, or
/// `then(false)` if the channel is closed.
///
/// `value` is moved from only if it was sent: it stays with the caller of select() if another case is
/// chosen or an exception leaves the call. With selecting() or in a select_list the case owns the value, and
/// destroys it if it was not sent. A function that returns such a case must not return it for a value of its
/// own.
template <class T, class Policy, class Then>
auto on_send(detail::basic_channel<T, Policy>& to, std::type_identity_t<T>&& value, Then then) {
  return detail::made<detail::channel_cases::send<T, Policy, Then, T&>>(to, value, std::move(then));
}
/// A case that sends a copy of a value. Otherwise like on_send(to, T&&, then).
template <class T, class Policy, class Then>
  requires std::is_copy_constructible_v<T>
auto on_send(detail::basic_channel<T, Policy>& to, const std::type_identity_t<T>& value, Then then) {
  return detail::made<detail::channel_cases::send<T, Policy, Then, T>>(to, T(value), std::move(then));
}

/// A case that is chosen if no other case could be done by a time. It calls `then()`.
template <class Then>
auto on_timeout(std::chrono::steady_clock::time_point at, Then then) {
  return detail::made<detail::timeout_case<Then>>(at, std::move(then));
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
  return detail::made<detail::otherwise_case<Then>>(std::move(then));
}

/// Waits until one of the cases can be done, does it, and calls its function. If several can be done it
/// does one of them, each with the same probability. Time-outs are tried last. The function is called after
/// all other cases have been left, so that it may do anything.
///
/// - Callers: fibers and OS threads, if they may use the channels. A fiber of a local runtime blocks its
///   thread unless all channels are sennit::local ones. Both kinds of channels in one call do not compile.
/// - A channel may be in several cases. A select does not send to itself.
/// - Cost: it tries the cases, each under the lock of its channel. Only if none can be done it builds a wait,
///   in its frame. Cases of local channels take no locks. It allocates nothing.
/// - Number of cases: as many as the call has. For a number that is known at run time, see select_list.hpp.
///
/// \returns the number of the chosen case, from 0
/// \throws sennit::cancelled if a stop_guard ends the wait
/// \throws whatever the case's function or the move of a value throws. Values should not throw when they
///   are moved.
template <class... Cases>
SENNIT_INLINE std::size_t select(detail::made<Cases>... cases) {
  constexpr bool waits = !(false || ... || detail::is_otherwise<Cases>);
  constexpr std::size_t count = sizeof...(Cases) - (waits ? 0 : 1);
  static_assert(count > 0, "a select has a case to wait for");
  constexpr std::array<bool, sizeof...(Cases)> otherwise_at{detail::is_otherwise<Cases>...};
  static_assert(waits || ((... + int{detail::is_otherwise<Cases>}) == 1 && otherwise_at[count]),
                "otherwise() is the last case");

  detail::case_pack<count, Cases...> pack(cases...);
  const std::size_t chosen = detail::select_one(pack, waits);
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
auto selecting(detail::made<Cases>... cases) {
  static_assert(!(false || ... || detail::is_otherwise<Cases>), "to look without waiting, call select()");
  return detail::select_wait<typename detail::channel_cases::kept<Cases>::type...>(std::move(cases)...);
}

}  // namespace sennit::inline v0_1
