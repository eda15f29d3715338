// sennit::channel_result: what channel::send_until() and channel::receive_until() return.
// room: sync
//
//   const auto next = numbers.receive_until(deadline);
//   if (next)
//     use(*next);
//   else if (next.status() == sennit::channel_status::timeout)
//     report_idle();
#pragma once

#include <optional>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// How a send or receive with a deadline ended. C functions return the error in parentheses.
enum class channel_status : unsigned char {
  /// A value was sent or received.
  success,
  /// The channel is closed and, for a receive, nothing is left in it (-EPIPE).
  closed,
  /// The deadline passed first (-ETIMEDOUT).
  timeout
};

namespace detail {
template <class T, class Policy>
class basic_channel;
struct ask_access;
}  // namespace detail

/// The result of receive_until(): a `std::optional<T>` that also says why it is empty.
template <class T>
class channel_result : public std::optional<T> {
public:
  /// \returns channel_status::success if there is a value
  channel_status status() const noexcept { return status_; }

private:
  template <class, class>
  friend class detail::basic_channel;
  friend struct detail::ask_access;
  channel_result() = default;
  channel_status status_ = channel_status::timeout;
};

/// The result of send_until(). It converts to true if the value was sent.
template <>
class channel_result<void> {
public:
  /// Made by a channel.
  explicit constexpr channel_result(channel_status status) noexcept : status_(status) {}
  /// \returns how the send ended
  constexpr channel_status status() const noexcept { return status_; }
  /// \returns whether the value was sent
  constexpr operator bool() const noexcept { return status_ == channel_status::success; }

private:
  channel_status status_;
};

}  // namespace sennit::inline v0_1
