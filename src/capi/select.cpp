// Select: waits for one of several channels.
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "become.hpp"
#include "channel.hpp"
#include "sennit/detail/sync/select_case.hpp"
#include "sennit/detail/sync/select_wait.hpp"

using namespace sennit;
using capi::guarded;
using capi::time_of;

namespace {

constexpr std::size_t most_cases = 64;
constexpr std::size_t most_kept_cases = 8;  // without a stack

template <class Channel>
class c_case final : public detail::select_case {
public:
  c_case(Channel& channel, bool sends, void* element) noexcept
      : select_case(&channel), channel_(channel), element_(element), sends_(sends) {}
  detail::any_lock lock() const noexcept override { return channel_.any(); }
  bool attempt(detail::later_wake& later) override {
    return channel_.attempt(sends_, element_, result, later);
  }
  void enter() noexcept override { channel_.enter(sends_, *this, element_); }
  void leave() noexcept override { detail::leave_list(*this); }
  bool complete() override {
    result = word == Channel::done ? 0 : -EPIPE;
    return true;
  }
  int result = 0;

private:
  Channel& channel_;
  void* element_;
  bool sends_;
};

class c_timeout final : public detail::select_case {
public:
  explicit c_timeout(detail::time_point at) noexcept : at_(at) {}
  detail::time_point deadline() const noexcept override { return at_; }

private:
  detail::time_point at_;
};

template <class Channel>
constexpr auto family_of =
    Channel::is_shared ? detail::select_case::family::shared : detail::select_case::family::local;

template <class Channel>
Channel& channel_of(const sennit_case& of) noexcept {
  if constexpr (Channel::is_shared)
    return of.channel->channel.shared();
  else
    return of.channel->channel.local();
}

// Whether the cases may be waited for, and are of one kind.
bool are_valid(const sennit_case* cases, std::size_t count, std::size_t most) noexcept {
  if (cases == nullptr || count == 0 || count > most)
    return false;
  for (std::size_t i = 0; i != count; ++i)
    if (cases[i].channel == nullptr || cases[i].element == nullptr ||
        cases[i].channel->channel.is_shared() != cases[0].channel->channel.is_shared())
      return false;
  return true;
}

template <class Channel>
int select_among(std::span<sennit_case> cases, int64_t deadline) {
  auto* const made = static_cast<c_case<Channel>*>(__builtin_alloca(sizeof(c_case<Channel>) * cases.size()));
  std::array<detail::select_case*, most_cases + 1> all;
  for (std::size_t i = 0; i != cases.size(); ++i)
    all[i] = ::new (static_cast<void*>(made + i))
        c_case<Channel>(channel_of<Channel>(cases[i]), cases[i].sends, cases[i].element);
  c_timeout at(time_of(deadline));
  all[cases.size()] = &at;
  const bool waits = deadline > 0;
  const std::size_t count = cases.size() + (waits && deadline != SENNIT_NEVER ? 1 : 0);
  const std::size_t chosen = detail::select_one(std::span(all.data(), count), family_of<Channel>, !waits);
  if (chosen >= cases.size())
    return -ETIMEDOUT;
  cases[chosen].result = made[chosen].result;
  return static_cast<int>(chosen);
}

}  // namespace

int sennit_select(sennit_case* cases, size_t count, int64_t deadline) {
  if (!are_valid(cases, count, most_cases) || !cases[0].channel->channel.may_wait())
    return -EINVAL;
  const std::span all(cases, count);
  return guarded([&] {
    return cases[0].channel->channel.is_shared() ? select_among<sennit_channel::shared_one>(all, deadline)
                                                 : select_among<sennit_channel::local_one>(all, deadline);
  });
}

namespace {

// What is kept of a select without a stack: the state, and an element for each case. The cases themselves are
// made where it waits, and again where it ends.
struct kept_case {
  sennit_case what;
  std::size_t element_at;
};

template <class Channel, std::size_t Room>
class c_select_wait : public detail::select_wait_base {
public:
  c_select_wait(std::span<const sennit_case> cases, const void* state, std::size_t size,
                int64_t deadline) noexcept
      : select_wait_base(family_of<Channel>), count_(cases.size()), deadline_(deadline) {
    std::memcpy(bytes_, state, size);
    std::size_t at = (size + 15) & ~std::size_t{15};
    for (std::size_t i = 0; i != count_; ++i) {
      const std::size_t element_size = channel_of<Channel>(cases[i]).element_size();
      kept_[i] = {cases[i], at};
      if (cases[i].sends)
        std::memcpy(bytes_ + at, cases[i].element, element_size);
      at += (element_size + 15) & ~std::size_t{15};
    }
  }
  c_select_wait(c_select_wait&& other) noexcept
      : select_wait_base(std::move(other)), count_(other.count_), deadline_(other.deadline_) {
    std::memcpy(kept_, other.kept_, sizeof kept_);
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    if (other.are_made_)
      for (std::size_t i = 0; i != count_; ++i)
        kept_[i].what.result = other.made(i).result;
  }
  ~c_select_wait() {
    if (are_made_)
      forget(all());
  }

  static std::size_t room_for(std::span<const sennit_case> cases, std::size_t size) noexcept {
    std::size_t room = (size + 15) & ~std::size_t{15};
    for (const sennit_case& each : cases)
      room += (channel_of<Channel>(each).element_size() + 15) & ~std::size_t{15};
    return room;
  }

  bool file(detail::fiber& f, detail::token_watch* stop = nullptr) noexcept {
    return select_wait_base::file(f, all(), stop);
  }
  bool withdraw(detail::fiber&) noexcept { return select_wait_base::withdraw(all()); }
  void leave(detail::fiber&, std::uintptr_t&, detail::fiber_status& why) noexcept {
    select_wait_base::leave(all(), why);
  }

  struct ended {
    alignas(16) std::byte bytes[Room];
    int number;
    sennit_case chosen;
  };
  ended end(detail::fiber&, std::uintptr_t, detail::fiber_status why) {
    if (why != detail::fiber_status::stopped)
      choose(all());
    ended result;
    std::memcpy(result.bytes, bytes_, sizeof bytes_);
    const std::size_t number = chosen();
    result.number = number < count_ ? static_cast<int>(number) : -ETIMEDOUT;
    if (number < count_) {
      result.chosen = kept_[number].what;
      result.chosen.result = made(number).result;
      // An offset, because the result may move.
      result.chosen.element = reinterpret_cast<void*>(kept_[number].element_at);
    }
    return result;
  }

private:
  using one = c_case<Channel>;
  one& made(std::size_t i) noexcept { return *std::launder(reinterpret_cast<one*>(places_) + i); }
  std::span<detail::select_case*> all() noexcept {
    if (!are_made_) {
      are_made_ = true;
      for (std::size_t i = 0; i != count_; ++i) {
        one* const each = ::new (static_cast<void*>(reinterpret_cast<one*>(places_) + i))
            one(channel_of<Channel>(kept_[i].what), kept_[i].what.sends, bytes_ + kept_[i].element_at);
        each->result = kept_[i].what.result;
        all_[i] = each;
      }
      all_[count_] = ::new (static_cast<void*>(at_)) c_timeout(time_of(deadline_));
    }
    return std::span(all_, count_ + (deadline_ != SENNIT_NEVER ? 1 : 0));
  }

  std::size_t count_;
  int64_t deadline_;
  bool are_made_ = false;
  kept_case kept_[most_kept_cases];
  detail::select_case* all_[most_kept_cases + 1];
  alignas(one) std::byte places_[most_kept_cases * sizeof(one)];
  alignas(c_timeout) std::byte at_[sizeof(c_timeout)];
  alignas(16) std::byte bytes_[Room];
};

struct c_select_continuation {
  sennit_value_function function;
  template <class Ended>
  void operator()(Ended&& ended) const {
    if (ended.number < 0)
      return function(ended.bytes, ended.number, nullptr);
    ended.chosen.element = ended.bytes + reinterpret_cast<std::uintptr_t>(ended.chosen.element);
    function(ended.bytes, ended.number, &ended.chosen);
  }
};

template <class Channel>
int become_selecting(const void* frame, std::span<const sennit_case> cases, sennit_value_function function,
                     const void* state, size_t size, int64_t deadline) {
  const auto with = [&]<std::size_t Room>(std::integral_constant<std::size_t, Room>) {
    return guarded([&] {
      c_select_wait<Channel, Room> wait(cases, state, size, deadline);
      detail::may_leave_frames("sennit_select_become", frame);
      detail::leave_frames(
          detail::block(std::move(wait), c_select_continuation{function}, detail::no_state{}));
      return 0;
    });
  };
  const std::size_t room = c_select_wait<Channel, 1>::room_for(cases, size);
  if (room <= 256)
    return with(std::integral_constant<std::size_t, 256>());
  if (room <= 2 * capi::most_state)
    return with(std::integral_constant<std::size_t, 2 * capi::most_state>());
  return -EINVAL;
}

}  // namespace

int sennit_select_become(const sennit_case* cases, size_t count, sennit_value_function function,
                         const void* state, size_t size, int64_t deadline) {
  if (!are_valid(cases, count, most_kept_cases) || function == nullptr || !capi::is_state(state, size) ||
      !cases[0].channel->channel.may_become())
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  const std::span all(cases, count);
  return cases[0].channel->channel.is_shared()
             ? become_selecting<sennit_channel::shared_one>(frame, all, function, state, size, deadline)
             : become_selecting<sennit_channel::local_one>(frame, all, function, state, size, deadline);
}
