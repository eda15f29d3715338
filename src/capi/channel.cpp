// Channels.
#include <cstddef>

#include "byte_channel.hpp"
#include "channel.hpp"
#include "kind.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "value_wait.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace sennit::inline v0_1::capi {

// What the inline send and receive assume.
struct channel_layout {
  using kinds_type = decltype(sennit_channel::channel);
  static constexpr std::size_t kinds_at = offsetof(sennit_channel, channel);
  static constexpr std::size_t at = kinds_at + offsetof(kinds_type, local_one_);
  static_assert(offsetof(sennit_channel, users) == offsetof(sennit_channel_front, users));
  static_assert(kinds_at + offsetof(kinds_type, shared_) == offsetof(sennit_channel_front, shared));
  static_assert(kinds_at + offsetof(kinds_type, shared_one_) == at);
  static_assert(sennit_channel::local_one::done == SENNIT_CHANNEL_DONE);
  template <class One>
  static constexpr bool fits() {
    return at + offsetof(One, receivers_) == offsetof(sennit_channel_front, receivers) &&
           at + offsetof(One, senders_) == offsetof(sennit_channel_front, senders) &&
           at + offsetof(One, size_) == offsetof(sennit_channel_front, element_size) &&
           at + offsetof(One, capacity_) == offsetof(sennit_channel_front, capacity) &&
           at + offsetof(One, places_) == offsetof(sennit_channel_front, places) &&
           at + offsetof(One, first_) == offsetof(sennit_channel_front, first) &&
           at + offsetof(One, count_) == offsetof(sennit_channel_front, count) &&
           at + offsetof(One, closed_) == offsetof(sennit_channel_front, closed) &&
           at + offsetof(One, is_inline_) == offsetof(sennit_channel_front, is_inline);
  }
  static constexpr bool is_lock_there() {
    using one = sennit_channel::shared_one;
    return sizeof(one::lists) == 1 && at + offsetof(one, waits_) == offsetof(sennit_channel_front, locked);
  }
};
static_assert(channel_layout::is_lock_there());
static_assert(channel_layout::fits<sennit_channel::local_one>() &&
              channel_layout::fits<sennit_channel::shared_one>());

}  // namespace sennit::inline v0_1::capi

using namespace sennit;
using capi::guarded;
using capi::time_of;
using capi::user;

static int create_channel(sennit_channel** result, bool shared, size_t element_size, size_t capacity) {
  return element_size == 0 ? -EINVAL : capi::create(result, shared, element_size, capacity);
}

int sennit_channel_create(sennit_channel** result, size_t element_size, size_t capacity) {
  return create_channel(result, false, element_size, capacity);
}

int sennit_channel_create_shared(sennit_channel** result, size_t element_size, size_t capacity) {
  return create_channel(result, true, element_size, capacity);
}

int sennit_channel_destroy(sennit_channel* channel) {
  if (channel != nullptr && channel->users != 0)
    return -EBUSY;
  delete channel;
  return 0;
}

// Their names are also macros, for the inline switch.
int(sennit_channel_send)(sennit_channel* channel, const void* element) {
  return sennit_channel_send_until(channel, element, SENNIT_NEVER);
}

int sennit_channel_send_until(sennit_channel* channel, const void* element, int64_t deadline) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_wait())
    return -EINVAL;
  if (channel->channel.is_shared())
    return channel->channel.shared().send(element, time_of(deadline));
  const user here(channel->users);
  return channel->channel.local().send(element, time_of(deadline));
}

int(sennit_channel_receive)(sennit_channel* channel, void* element) {
  return sennit_channel_receive_until(channel, element, SENNIT_NEVER);
}

int sennit_channel_receive_until(sennit_channel* channel, void* element, int64_t deadline) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_wait())
    return -EINVAL;
  if (channel->channel.is_shared())
    return channel->channel.shared().receive(element, time_of(deadline));
  const user here(channel->users);
  return channel->channel.local().receive(element, time_of(deadline));
}

int sennit_channel_begin_send(sennit_channel* channel, const void* element, sennit_wait* wait) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_wait()) [[unlikely]]
    return -EINVAL;
  return channel->channel.with([&]<class One>(One& one) __attribute__((always_inline)) {
    const int begun = one.begin_send(element, *wait, channel->users);
    return begun == One::must_call ? (sennit_channel_send)(channel, element) : begun;
  });
}

int sennit_channel_begin_receive(sennit_channel* channel, void* element, sennit_wait* wait) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_wait()) [[unlikely]]
    return -EINVAL;
  return channel->channel.with([&]<class One>(One& one) __attribute__((always_inline)) {
    const int begun = one.begin_receive(element, *wait, channel->users);
    return begun == One::must_call ? (sennit_channel_receive)(channel, element) : begun;
  });
}

int sennit_channel_trysend(sennit_channel* channel, const void* element) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_use())
    return -EINVAL;
  return channel->channel.with([&](auto& one) { return one.try_send(element); });
}

int sennit_channel_tryreceive(sennit_channel* channel, void* element) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_use())
    return -EINVAL;
  return channel->channel.with([&](auto& one) { return one.try_receive(element); });
}

namespace {

template <class Channel>
struct receive_wait {
  static constexpr const char* reason = "channel receive";
  bool file(detail::fiber& f, detail::waiter& me, void* value, int& result) noexcept {
    return channel->file_receive(f, me, value, result);
  }
  bool leave(detail::waiter& me) noexcept { return channel->leave(me); }
  static int result_of(std::uintptr_t word) noexcept { return word == Channel::done ? 0 : -EPIPE; }
  static bool brings(int result) noexcept { return result == 0; }
  Channel* channel;
};

// Its value is the element, which comes back if it was not sent.
template <class Channel>
struct send_wait {
  static constexpr const char* reason = "channel send";
  bool file(detail::fiber& f, detail::waiter& me, void* value, int& result) noexcept {
    return channel->file_send(f, me, value, result);
  }
  bool leave(detail::waiter& me) noexcept { return channel->leave(me); }
  static int result_of(std::uintptr_t word) noexcept { return word == Channel::done ? 0 : -EPIPE; }
  static bool brings(int result) noexcept { return result != 0; }
  Channel* channel;
};

}  // namespace

int sennit_channel_become_receiving(sennit_channel* channel, sennit_value_function function,
                                    const void* state, size_t size, int64_t deadline) {
  if (channel == nullptr || !channel->channel.may_become())
    return -EINVAL;
  return channel->channel.with([&, frame = __builtin_dwarf_cfa()]<class One>(One& one) {
    return capi::become_with_value(
        "sennit_channel_become_receiving", frame, [&] { return receive_wait<One>{&one}; }, nullptr, 0,
        one.element_size(), function, state, size, deadline);
  });
}

int sennit_channel_become_sending(sennit_channel* channel, const void* element,
                                  sennit_value_function function, const void* state, size_t size,
                                  int64_t deadline) {
  if (channel == nullptr || element == nullptr || !channel->channel.may_become())
    return -EINVAL;
  return channel->channel.with([&, frame = __builtin_dwarf_cfa()]<class One>(One& one) {
    return capi::become_with_value(
        "sennit_channel_become_sending", frame, [&] { return send_wait<One>{&one}; }, element,
        one.element_size(), one.element_size(), function, state, size, deadline);
  });
}

int sennit_channel_close(sennit_channel* channel) {
  if (channel == nullptr || !channel->channel.may_use())
    return -EINVAL;
  channel->channel.with([](auto& one) { one.close(); });
  return 0;
}

ssize_t sennit_channel_size(const sennit_channel* channel) {
  if (channel == nullptr)
    return -EINVAL;
  return const_cast<sennit_channel*>(channel)->channel.with(
      [](auto& one) { return static_cast<ssize_t>(one.size()); });
}
