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

namespace sennit {

enum class channel_status : unsigned char {
  success,
  closed,  // and, for a receive, nothing is left in the channel. C: -EPIPE
  timeout  // the deadline passed first. C: -ETIMEDOUT
};

namespace detail {
template <class T, class Waits>
class basic_channel;
}

// A std::optional<T> that also says why it is empty.
template <class T>
class channel_result : public std::optional<T> {
public:
  channel_status status() const noexcept { return status_; }

private:
  template <class, class>
  friend class detail::basic_channel;
  channel_result() = default;
  channel_status status_ = channel_status::timeout;
};

// Converts to true if the value was sent.
template <>
class channel_result<void> {
public:
  explicit constexpr channel_result(channel_status status) noexcept : status_(status) {}
  constexpr channel_status status() const noexcept { return status_; }
  constexpr operator bool() const noexcept { return status_ == channel_status::success; }

private:
  channel_status status_;
};

}  // namespace sennit
